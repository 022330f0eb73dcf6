/**
 * Code that calls an endpoint, for pasting. The key is read from the environment: a snippet must
 * not carry one.
 */
import { asJson, asPython, inGo, inShell } from "./example-input.ts";
import { T } from "../text/text.ts";

interface Place {
	/** Address of the service, without a slash at its end. */
	base: string;
	id: string;
	/** Input of the example. */
	input: unknown;
	/** Model of the example; empty where none is known. */
	model: string;
}

export const SNIPPETS = [
	{
		id: "curl",
		name: "curl",
		about: T.connect.curl,
		text: ({ base, id, input }: Place): string => `export SLUICE_API_KEY=...

# Waits for the result
curl -s "${base}/v2/${id}/runsync" \\
  -H "Authorization: Bearer $SLUICE_API_KEY" \\
  -H "Content-Type: application/json" \\
  -d '${inShell({ input })}'

# Returns an id immediately; poll /status for the result
curl -s "${base}/v2/${id}/run" \\
  -H "Authorization: Bearer $SLUICE_API_KEY" \\
  -H "Content-Type: application/json" \\
  -d '${inShell({ input })}'
curl -s "${base}/v2/${id}/status/JOB_ID" \\
  -H "Authorization: Bearer $SLUICE_API_KEY"`,
	},
	{
		id: "python",
		name: "Python",
		about: T.connect.python,
		text: ({ base, id, input }: Place): string => `import os

os.environ["RUNPOD_ENDPOINT_BASE_URL"] = "${base}/sdk/v2"  # before runpod is imported
import runpod

endpoint = runpod.Endpoint("${id}", api_key=os.environ["SLUICE_API_KEY"])

job = endpoint.run(${asPython(input)})
for chunk in job.stream():
    print(chunk)
print(job.output(timeout=120))`,
	},
	{
		id: "javascript",
		name: "JavaScript",
		about: T.connect.javascript,
		text: ({ base, id, input }: Place): string => `import runpodSdk from "runpod-sdk";

const runpod = runpodSdk(process.env.SLUICE_API_KEY, { baseUrl: "${base}/v2" });
const endpoint = runpod.endpoint("${id}");

const { id } = await endpoint.run(${asJson({ input })});
for await (const chunk of endpoint.stream(id)) console.log(chunk);
console.log(await endpoint.status(id));`,
	},
	{
		id: "go",
		name: "Go",
		about: T.connect.go,
		text: ({ base, id, input }: Place): string => `package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
)

func main() {
	body := strings.NewReader(${inGo({ input })})
	request, err := http.NewRequest("POST", "${base}/v2/${id}/runsync", body)
	if err != nil {
		panic(err)
	}
	request.Header.Set("Authorization", "Bearer "+os.Getenv("SLUICE_API_KEY"))
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		panic(err)
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		panic(err)
	}
	fmt.Println(response.Status, string(answer))
}`,
	},
	{
		id: "openai",
		name: "OpenAI",
		about: T.connect.openai,
		text: ({ base, id, model }: Place): string => `import os
from openai import OpenAI

client = OpenAI(
    base_url="${base}/v2/${id}/openai/v1",
    api_key=os.environ["SLUICE_API_KEY"],
)

stream = client.chat.completions.create(
    model=${asPython(model || "MODEL")},
    messages=[{"role": "user", "content": "hello"}],
    stream=True,
)
for event in stream:
    print(event.choices[0].delta.content or "", end="")`,
	},
] as const;
