// An application in Go that reports what each request turned out to cost. Here a word is a token.
package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"log"
	"net/http"
	"os"
	"strings"
	"time"
)

var url = cmp.Or(os.Getenv("HEADGATE_URL"), "http://127.0.0.1:8080") + "/settle"
var client = http.Client{Timeout: 2 * time.Second}

// settle never fails the request: if the report is lost, what was reserved stays charged.
func settle(token string, outcome map[string]any) {
	if token == "" { // no limit of this request charges afterwards
		return
	}
	outcome["token"] = token
	body, _ := json.Marshal(outcome)
	report, _ := http.NewRequest("POST", url, bytes.NewReader(body))
	report.Header.Set("Content-Type", "application/json")
	report.Header.Set("X-Headgate-Settle-Secret", os.Getenv("HEADGATE_SETTLE_SECRET"))
	answer, err := client.Do(report)
	if err != nil {
		log.Print("not settled: ", err)
		return
	}
	defer answer.Body.Close()
	var settled struct{ Result, Reason, Message string }
	if json.NewDecoder(answer.Body).Decode(&settled) != nil || settled.Result != "settled" {
		log.Print("not settled: ", answer.Status, " ", settled.Reason, settled.Message)
	}
}

func main() {
	http.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		text, outcome := "the answer has five tokens", map[string]any{"status": 200}
		// If the client hangs up, it is charged as unknown without units, so aborting is never cheaper.
		if _, err := w.Write([]byte(text)); err == nil && r.Context().Err() == nil {
			outcome["units"] = map[string]int{"tokens": len(strings.Fields(text))}
		}
		go settle(r.Header.Get("X-Headgate-Settle"), outcome)
	})
	log.Fatal(http.ListenAndServe("127.0.0.1:"+cmp.Or(os.Getenv("PORT"), "3000"), nil))
}
