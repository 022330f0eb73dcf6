/** First output of `sluice dev`: addresses for clients, and commands to copy. */
import { LINK_NOTE } from "../serve.ts";

/** Longest input inserted into the commands, characters. */
const MAX_INLINE = 200;

const EXAMPLE = '{"input": {"prompt": "Hello"}}';

export function banner(q: {
	url: string;
	consoleLink: string | undefined;
	endpoint: string;
	key: string;
	what: string;
	folder: string;
	/** `test_input.json`. */
	testInput: { path: string; text: string } | undefined;
	notes: readonly string[];
}): string {
	const { url, endpoint, key, testInput, consoleLink } = q;
	const inline = testInput === undefined ? EXAMPLE : inlineJson(testInput.text);
	const address = `${url}/v2/${endpoint}/runsync`;
	const file = testInput?.path ?? "";
	const link = consoleLink === undefined ? "" : `  console    ${consoleLink} ${LINK_NOTE}\n`;
	const curlBody = shellWord(inline ?? `@${file}`);
	const pythonBody =
		inline === undefined
			? `open(${JSON.stringify(file)}, "rb").read()`
			: `${JSON.stringify(inline)}.encode()`;
	const pythonHeaders = `{"Authorization": "Bearer ${key}", "Content-Type": "application/json"}`;
	const request = `u.Request("${address}", ${pythonBody}, ${pythonHeaders})`;
	const python = `import urllib.request as u; print(u.urlopen(${request}).read().decode())`;
	const nodeBody =
		inline === undefined
			? `require("fs").readFileSync(${JSON.stringify(file)})`
			: JSON.stringify(inline);
	const init = `{ method: "POST", headers: { Authorization: "Bearer ${key}" }, body: ${nodeBody} }`;
	const node = `fetch("${address}", ${init}).then((r) => r.text()).then(console.log)`;
	return `Sluice listens on ${url}
  endpoint   ${endpoint}
  worker     ${q.what}, restarted when a source file in ${q.folder} changes
  API key    ${key}
${link}${q.notes.map((note) => `  ${note}\n`).join("")}
Base addresses
  HTTP                   ${url}/v2
  RunPod SDK, Python     RUNPOD_ENDPOINT_BASE_URL=${url}/sdk/v2
  RunPod SDK, JavaScript runpodSdk("${key}", { baseUrl: "${url}/v2" })
  RunPod SDK, Go         EndpointUrl: "${url}/v2"
  OpenAI clients         ${url}/v2/${endpoint}/openai/v1
  sluice commands        export SLUICE_URL=${url} SLUICE_API_KEY=${key}

Try it
  curl -sS ${address} -H 'Authorization: Bearer ${key}' -d ${curlBody}
  python3 -c ${shellWord(python)}
  node -e ${shellWord(node)}

`;
}

/** One line, if short and without escapes in any of the languages. */
function inlineJson(text: string): string | undefined {
	const line = text.trim().replaceAll(/\s*\n\s*/g, " ");
	return line.length <= MAX_INLINE && /^[\x20-\x7e]*$/.test(line) ? line : undefined;
}

function shellWord(text: string): string {
	return `'${text.replaceAll("'", `'\\''`)}'`;
}
