"""An application in Python that reports what each request turned out to cost. Here a word is a token."""
import json, os, threading, urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

HEADGATE_URL = os.environ.get("HEADGATE_URL", "http://127.0.0.1:8080")
SECRET = os.environ.get("HEADGATE_SETTLE_SECRET", "")


def settle(token, outcome):
    """Never fails the request: if the report is lost, what was reserved stays charged."""
    if token is None:  # no limit of this request charges afterwards
        return
    headers = {"Content-Type": "application/json", "X-Headgate-Settle-Secret": SECRET}
    body = json.dumps({"token": token, **outcome}).encode()
    try:
        report = urllib.request.Request(HEADGATE_URL + "/settle", body, headers)
        answer = json.load(urllib.request.urlopen(report, timeout=2))
        if answer["result"] != "settled":
            print("not settled:", answer["reason"], flush=True)
    except (OSError, ValueError, KeyError) as error:
        print("not settled:", error, flush=True)


class Application(BaseHTTPRequestHandler):
    def do_POST(self):
        text, outcome = "the answer has five tokens", {"status": 200}
        try:
            self.send_response(200)
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text.encode())
            outcome["units"] = {"tokens": len(text.split())}
        finally:  # also if the client hangs up: without units it is charged as unknown, so aborting is never cheaper
            token = self.headers["X-Headgate-Settle"]
            threading.Thread(target=settle, args=(token, outcome)).start()


ThreadingHTTPServer(("127.0.0.1", int(os.environ.get("PORT", "3000"))), Application).serve_forever()
