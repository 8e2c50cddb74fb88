"""A client of grpcio that a test drives: it reads a command in JSON from each line of its input, and writes a reply in
JSON for each message and for each end of a call."""

import base64
import json
import sys
import threading

import grpc

running = {}
# The callbacks of a call that has ended come while the call begins.
lock = threading.RLock()


def say(**reply):
    with lock:
        print(json.dumps(reply), flush=True)


def say_message(number, message):
    say(id=number, message=base64.b64encode(message).decode())


def say_end(number, call):
    with lock:
        running.pop(number, None)
    code = call.code()
    if code is grpc.StatusCode.OK and number not in streams:
        say_message(number, call.result())
    say(id=number, code=code.value[0], details=call.details() or "")


def read_stream(number, call):
    try:
        for message in call:
            say_message(number, message)
    except grpc.RpcError:
        pass
    say_end(number, call)


streams = set()


def begin(channel, command):
    number = command["id"]
    message = base64.b64decode(command["message"])
    within_ms = command.get("withinMs", 0)
    options = {
        "timeout": within_ms / 1000 if within_ms > 0 else None,
        "compression": grpc.Compression.Gzip if command.get("gzip") else None,
    }
    if command["do"] == "stream":
        streams.add(number)
        call = channel.unary_stream(command["path"])(message, **options)
        running[number] = call
        threading.Thread(target=read_stream, args=(number, call), daemon=True).start()
    else:
        call = channel.unary_unary(command["path"]).future(message, **options)
        with lock:
            running[number] = call
        call.add_done_callback(lambda ended: say_end(number, ended))


def open_channel():
    # All calls of this process on one connection of its own.
    options = [("grpc.use_local_subchannel_pool", 1), ("grpc.ssl_target_name_override", "localhost")]
    if len(sys.argv) < 3:
        return grpc.insecure_channel(sys.argv[1], options)
    with open(sys.argv[2], "rb") as file:
        return grpc.secure_channel(sys.argv[1], grpc.ssl_channel_credentials(file.read()), options)


def main():
    channel = open_channel()
    for line in sys.stdin:
        command = json.loads(line)
        if command["do"] != "cancel":
            begin(channel, command)
            continue
        with lock:
            call = running.pop(command["id"], None)
        if call is not None:
            call.cancel()


main()
