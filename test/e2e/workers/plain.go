// A worker as public ones in Go are: the standard library only, and of the addresses as given it replaces $ID by the
// job's id when it posts, $RUNPOD_POD_ID never.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"
)

type job struct {
	ID    string          `json:"id"`
	Input json.RawMessage `json:"input"`
}

func send(method, url string, body []byte) (*http.Response, error) {
	request, err := http.NewRequest(method, url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Authorization", os.Getenv("RUNPOD_AI_API_KEY"))
	request.Header.Set("Content-Type", "application/json")
	return http.DefaultClient.Do(request)
}

func main() {
	for {
		answer, err := send("GET", os.Getenv("RUNPOD_WEBHOOK_GET_JOB"), nil)
		if err != nil || answer.StatusCode != 200 {
			if err != nil || answer.StatusCode != 204 {
				fmt.Fprintln(os.Stderr, "no job:", err)
				time.Sleep(time.Second)
			}
			continue
		}
		var taken job
		err = json.NewDecoder(answer.Body).Decode(&taken)
		answer.Body.Close()
		if err != nil {
			fmt.Fprintln(os.Stderr, "not a job:", err)
			continue
		}
		result, _ := json.Marshal(map[string]any{"output": map[string]any{"echo": taken.Input}})
		url := strings.ReplaceAll(os.Getenv("RUNPOD_WEBHOOK_POST_OUTPUT"), "$ID", taken.ID)
		posted, err := send("POST", url, result)
		if err != nil || posted.StatusCode != 200 {
			fmt.Fprintln(os.Stderr, "not posted:", err)
			continue
		}
		posted.Body.Close()
	}
}
