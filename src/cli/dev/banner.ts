import { printable } from "../../kernel/lib/terminal-text.ts";
import { shellQuoted } from "../../kernel/lib/text.ts";
import { styled } from "../framework/style.ts";

const MAX_INLINE = 200;

const EXAMPLE = '{"input": {"prompt": "Hello"}}';

interface BannerFacts {
	url: string;
	consoleLink: string | undefined;
	endpoint: string;
	key: string;
	what: string;
	example: { path: string | undefined; text: string } | undefined;
	notes: readonly string[];
}

export function banner(q: BannerFacts): string {
	const { url, endpoint, key, consoleLink, notes } = q;
	const line = (name: string, text: string): string => `  ${styled("cyan", name.padEnd(8))} ${text}\n`;
	const title = `${styled("bold", "Sluice dev")}  ${styled("green", endpoint)}  ${printable(q.what)}`;
	return (
		`${title}\n\n${line("endpoint", endpoint)}` +
		`${consoleLink === undefined ? "" : line("console", consoleLink)}${line("try it", curlLine(q))}` +
		line("shell", `export SLUICE_URL=${url} SLUICE_API_KEY=${key}`) +
		`${notes.map((note) => styled("dim", `  ${printable(note)}\n`)).join("")}\n`
	);
}

function curlLine(q: BannerFacts): string {
	const body = shellQuoted(inlineOf(q) ?? `@${q.example?.path}`);
	return `curl -sS ${q.url}/v2/${q.endpoint}/runsync -H 'Authorization: Bearer ${q.key}' -d ${body}`;
}

export function clientsText(q: BannerFacts): string {
	const { url, endpoint, key } = q;
	return `${styled("bold", "Base addresses")}
  HTTP                   ${url}/v2
  RunPod SDK, Python     RUNPOD_ENDPOINT_BASE_URL=${url}/sdk/v2
  RunPod SDK, JavaScript runpodSdk("${key}", { baseUrl: "${url}/v2" })
  RunPod SDK, Go         EndpointUrl: "${url}/v2"
  OpenAI clients         ${url}/v2/${endpoint}/openai/v1
  API key                ${key}

`;
}

/** One line, if short and without escapes in any of the languages. */
function inlineOf({ example }: BannerFacts): string | undefined {
	const lines = (example?.text ?? EXAMPLE).split("\n").map((each) => each.trim());
	const line = lines.filter(Boolean).join(" ");
	if (line.length <= MAX_INLINE && /^[\x20-\x7e]*$/.test(line)) return line;
	return example?.path === undefined ? EXAMPLE : undefined;
}
