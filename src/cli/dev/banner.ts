/** What `sluice dev` says first: addresses for clients and lines that work when pasted. */

/** Longest input that stands in the lines themselves, in characters. */
const LONGEST = 200;

const EXAMPLE = '{"input": {"prompt": "Hello"}}';

/** The greeting. `testInput`: path and text of `test_input.json`, if it is there. */
export function greeting(q: {
	url: string;
	consoleLink: string | undefined;
	endpoint: string;
	key: string;
	what: string;
	folder: string;
	testInput: { path: string; text: string } | undefined;
	notes: readonly string[];
}): string {
	const { url, endpoint, key, testInput } = q;
	const inline = testInput === undefined ? EXAMPLE : asArgument(testInput.text);
	const address = `${url}/v2/${endpoint}/runsync`;
	const file = testInput?.path ?? "";
	return `Sluice listens on ${url}
  endpoint   ${endpoint}
  worker     ${q.what}, started anew when a source file in ${q.folder} changes
  API key    ${key}
${q.consoleLink === undefined ? "" : `  console    ${q.consoleLink} (good once, for 10 minutes; then: sluice console)\n`}${q.notes.map((note) => `  ${note}\n`).join("")}
Base addresses
  HTTP                   ${url}/v2
  RunPod SDK, Python     RUNPOD_ENDPOINT_BASE_URL=${url}/sdk/v2
  RunPod SDK, JavaScript runpodSdk("${key}", { baseUrl: "${url}/v2" })
  RunPod SDK, Go         EndpointUrl: "${url}/v2"
  OpenAI clients         ${url}/v2/${endpoint}/openai/v1
  sluice commands        export SLUICE_URL=${url} SLUICE_API_KEY=${key}

Try it
  curl -sS ${address} -H 'Authorization: Bearer ${key}' -d ${inline === undefined ? quoted(`@${file}`) : quoted(inline)}
  python3 -c ${quoted(`import urllib.request as u; print(u.urlopen(u.Request("${address}", ${inline === undefined ? `open(${JSON.stringify(file)}, "rb").read()` : `${JSON.stringify(inline)}.encode()`}, {"Authorization": "Bearer ${key}", "Content-Type": "application/json"})).read().decode())`)}
  node -e ${quoted(`fetch("${address}", { method: "POST", headers: { Authorization: "Bearer ${key}" }, body: ${inline === undefined ? `require("fs").readFileSync(${JSON.stringify(file)})` : JSON.stringify(inline)} }).then((r) => r.text()).then(console.log)`)}

`;
}

/** The text on one line, if it is short enough and the same in every language's quotes. */
function asArgument(text: string): string | undefined {
	const line = text.trim().replaceAll(/\s*\n\s*/g, " ");
	return line.length <= LONGEST && /^[\x20-\x7e]*$/.test(line) ? line : undefined;
}

/** One word for a shell. */
function quoted(text: string): string {
	return `'${text.replaceAll("'", `'\\''`)}'`;
}
