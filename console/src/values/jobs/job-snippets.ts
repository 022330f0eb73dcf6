/** A job as code that submits it again, for pasting; the key is read from the environment. */

interface Call {
	/** Address of the service, with a slash at its end. */
	base: string;
	endpoint: string;
	/** The body of the submission, JSON text. */
	body: string;
}

/** Longer bodies are read from a file. */
const MOST_INLINE = 20_000;

/** Where the caller saves a long body. */
export const BODY_FILE = "job.json";

const url = ({ base, endpoint }: Call): string => `${base}v2/${encodeURIComponent(endpoint)}/runsync`;

/** Whether the snippets read the body from {@link BODY_FILE}. */
export const isLong = (body: string): boolean => body.length > MOST_INLINE;

/** JSON text without the marks of JavaScript's templates. */
function plain(json: string): string {
	return json.replaceAll("`", "\\u0060").replaceAll("${", "\\u0024{");
}

export const JOB_SNIPPETS = [
	{
		id: "curl",
		name: "curl",
		text: (call: Call): string => {
			const data = isLong(call.body) ? `-d @${BODY_FILE}` : `-d @- <<'JSON'\n${call.body}\nJSON`;
			return `curl -s "${url(call)}" \\
  -H "Authorization: Bearer $SLUICE_API_KEY" \\
  -H "Content-Type: application/json" \\
  ${data}`;
		},
	},
	{
		id: "python",
		name: "Python",
		text: (call: Call): string => `import json
import os
import urllib.request

body = ${isLong(call.body) ? `open("${BODY_FILE}").read()` : `r"""${call.body}"""`}
request = urllib.request.Request(
    "${url(call)}",
    data=body.encode(),
    headers={
        "Authorization": "Bearer " + os.environ["SLUICE_API_KEY"],
        "Content-Type": "application/json",
    },
)
print(json.load(urllib.request.urlopen(request)))`,
	},
	{
		id: "javascript",
		name: "JavaScript",
		text: (call: Call): string => `${
			isLong(call.body) ? 'import { readFile } from "node:fs/promises";\n\n' : ""
		}const response = await fetch("${url(call)}", {
  method: "POST",
  headers: {
    Authorization: \`Bearer \${process.env.SLUICE_API_KEY}\`,
    "Content-Type": "application/json",
  },
  body: ${isLong(call.body) ? `await readFile("${BODY_FILE}")` : `String.raw\`${plain(call.body)}\``},
});
console.log(await response.json());`,
	},
] as const;
