/** The request of an example as code in four languages, each complete. */
import type { ExampleRequest, Piece } from "./example-request.ts";

export const LANGUAGES = ["curl", "Python", "JavaScript", "Go"] as const;
export type Language = (typeof LANGUAGES)[number];

/** Name of a file that an answer is stored in. */
const FILE = "sluice.tar";

/** Name of a file in a form. */
const UPLOAD = "hello.txt";

const WRITERS: Readonly<Record<Language, (request: ExampleRequest) => string>> = {
	curl,
	Python: python,
	JavaScript: javascript,
	Go: go,
};

export function snippetOf(request: ExampleRequest, language: Language): string {
	return WRITERS[language](request);
}

function curl({ method, url, authorization, body, answer }: ExampleRequest): string {
	const text = (pieces: readonly Piece[]): string =>
		pieces.map((each) => (typeof each === "string" ? each : `$${each.variable}`)).join("");
	const verb = method === (body ? "POST" : "GET") ? "" : `-X ${method} `;
	const options = { whole: "-s ", stream: "-sN ", file: `-s -o ${FILE} ` }[answer];
	return [
		`curl ${options}${verb}"${text(url)}"`,
		...(authorization.length > 0 ? [`-H "Authorization: ${text(authorization)}"`] : []),
		...(body
			? isForm(body)
				? fieldsOf(body).map(({ name, value, isFile }) => `-F "${name}=${value}${isFile ? `;filename=${UPLOAD}` : ""}"`)
				: [`-d '${bodyText(body).replaceAll("'", `'\\''`)}'`]
			: []),
	].join(" \\\n  ");
}

function python({ method, url, authorization, body, answer }: ExampleRequest): string {
	const text = (pieces: readonly Piece[]): string => {
		const inner = pieces
			.map((each) =>
				typeof each === "string" ? JSON.stringify(each).slice(1, -1) : `{os.environ['${each.variable}']}`,
			)
			.join("");
		const [only] = pieces;
		if (pieces.length === 1 && typeof only === "object") return `os.environ["${only.variable}"]`;
		return `${pieces.some((each) => typeof each === "object") ? "f" : ""}"${inner}"`;
	};
	const lines = [
		text(url),
		...(authorization.length > 0 ? [`headers={"Authorization": ${text(authorization)}}`] : []),
		...(body ? [pythonBody(body)] : []),
		...(answer === "whole" ? [] : ["stream=True"]),
	];
	const usesOs = [...url, ...authorization].some((each) => typeof each === "object");
	return [
		...(usesOs ? ["import os", ""] : []),
		"import requests",
		"",
		`response = requests.${method.toLowerCase()}(`,
		...lines.map((line) => `    ${line},`),
		")",
		...{
			whole: ["print(response.status_code, response.text)"],
			stream: ["for line in response.iter_lines():", "    print(line.decode())"],
			file: [
				`with open("${FILE}", "wb") as file:`,
				"    for piece in response.iter_content(1 << 20):",
				"        file.write(piece)",
			],
		}[answer],
	].join("\n");
}

function pythonBody(body: Content): string {
	if (isJson(body)) return `json=${literal(body.value, IN_PYTHON)}`;
	if (!isForm(body)) return `data=${JSON.stringify(bodyText(body))}`;
	const fields = fieldsOf(body).map(
		({ name, value, isFile }) => `"${name}": (${isFile ? `"${UPLOAD}"` : "None"}, "${value}")`,
	);
	return `files={${fields.join(", ")}}`;
}

function javascript({ method, url, authorization, body, answer }: ExampleRequest): string {
	const text = (pieces: readonly Piece[]): string => {
		const [only] = pieces;
		if (pieces.length === 1) return typeof only === "string" ? JSON.stringify(only) : `process.env.${only!.variable}`;
		return `\`${pieces
			.map((each) => (typeof each === "string" ? each : `\${process.env.${each.variable}}`))
			.join("")}\``;
	};
	const lines = [
		...(method === "GET" ? [] : [`method: "${method}"`]),
		...(authorization.length > 0 ? [`headers: { Authorization: ${text(authorization)} }`] : []),
		...(body
			? [
					isJson(body)
						? `body: JSON.stringify(${literal(body.value, IN_JAVASCRIPT)})`
						: `body${isForm(body) ? "" : `: ${JSON.stringify(bodyText(body))}`}`,
				]
			: []),
	];
	const options = lines.length > 0 ? `, {\n${lines.map((line) => `  ${line},\n`).join("")}}` : "";
	return [
		...(answer === "file" ? ['import { writeFile } from "node:fs/promises";', ""] : []),
		...(body && isForm(body)
			? [
					"const body = new FormData();",
					...fieldsOf(body).map(({ name, value, isFile }) =>
						isFile
							? `body.append("${name}", new Blob(["${value}"]), "${UPLOAD}");`
							: `body.append("${name}", "${value}");`,
					),
				]
			: []),
		`const response = await fetch(${text(url)}${options});`,
		{
			whole: "console.log(response.status, await response.text());",
			stream: "for await (const piece of response.body) process.stdout.write(piece);",
			file: `await writeFile("${FILE}", response.body);`,
		}[answer],
	].join("\n");
}

function go({ method, url, authorization, body, answer }: ExampleRequest): string {
	const text = (pieces: readonly Piece[]): string =>
		pieces.map((each) => (typeof each === "string" ? JSON.stringify(each) : `os.Getenv("${each.variable}")`)).join("+");
	const quoted = (plain: string): string => (plain.includes("`") ? JSON.stringify(plain) : `\`${plain}\``);
	const stop = ["\tif err != nil {", "\t\tlog.Fatal(err)", "\t}"];
	const file = answer === "file";
	const form = body && isForm(body);
	const imports = [
		...(form ? ["bytes"] : []),
		...["io", "log", ...(form ? ["mime/multipart"] : []), "net/http", "os", ...(body && !form ? ["strings"] : [])],
	];
	const content = body ? `strings.NewReader(${quoted(bodyText(body))})` : "nil";
	return [
		"package main",
		"",
		"import (",
		...imports.map((name) => `\t"${name}"`),
		")",
		"",
		"func main() {",
		...(form ? goForm(body) : body ? [`\tbody := ${content}`] : []),
		`\trequest, err := http.NewRequest("${method}", ${text(url)}, ${body ? "body" : "nil"})`,
		...stop,
		...(authorization.length > 0 ? [`\trequest.Header.Set("Authorization", ${text(authorization)})`] : []),
		...(form ? ['\trequest.Header.Set("Content-Type", form.FormDataContentType())'] : []),
		"\tresponse, err := http.DefaultClient.Do(request)",
		...stop,
		"\tdefer response.Body.Close()",
		...(file ? [`\tfile, err := os.Create("${FILE}")`, ...stop, "\tdefer file.Close()"] : []),
		`\tif _, err := io.Copy(${file ? "file" : "os.Stdout"}, response.Body); err != nil {`,
		"\t\tlog.Fatal(err)",
		"\t}",
		"}",
	].join("\n");
}

/** Writing to memory does not fail. */
function goForm(body: Content): string[] {
	return [
		"\tbody := &bytes.Buffer{}",
		"\tform := multipart.NewWriter(body)",
		...fieldsOf(body).flatMap(({ name, value, isFile }) =>
			isFile
				? [`\tfile, _ := form.CreateFormFile("${name}", "${UPLOAD}")`, `\tfile.Write([]byte("${value}"))`]
				: [`\tform.WriteField("${name}", "${value}")`],
		),
		"\tform.Close()",
	];
}

type Content = NonNullable<ExampleRequest["body"]>;

function isForm({ media }: Content): boolean {
	return media === "multipart/form-data";
}

/** Fields of a form, whose values are words. */
function fieldsOf({ value, files }: Content): { name: string; value: string; isFile: boolean }[] {
	const fields = Object.entries(value as Readonly<Record<string, string>>);
	return fields.map(([name, text]) => ({ name, value: text, isFile: files.includes(name) }));
}

function isJson({ media }: Content): boolean {
	return media === "application/json";
}

function bodyText({ value }: Content): string {
	return typeof value === "string" ? value : JSON.stringify(value);
}

interface Words {
	null: string;
	true: string;
	false: string;
	/** Inside braces. */
	space: string;
	name(text: string): string;
}

const IN_PYTHON: Words = {
	null: "None",
	true: "True",
	false: "False",
	space: "",
	name: (text) => JSON.stringify(text),
};

const IN_JAVASCRIPT: Words = {
	null: "null",
	true: "true",
	false: "false",
	space: " ",
	name: (text) => (/^[a-zA-Z_]\w*$/.test(text) ? text : JSON.stringify(text)),
};

/** A JSON value in the language's words. */
function literal(value: unknown, words: Words): string {
	if (value === null) return words.null;
	if (typeof value === "boolean") return value ? words.true : words.false;
	if (Array.isArray(value)) return `[${value.map((each) => literal(each, words)).join(", ")}]`;
	if (typeof value !== "object") return JSON.stringify(value);
	const members = Object.entries(value).map(([name, each]) => `${words.name(name)}: ${literal(each, words)}`);
	return members.length === 0 ? "{}" : `{${words.space}${members.join(", ")}${words.space}}`;
}
