/** `/docs/api/`: the OpenAPI document as a page, complete without its script. */
import { exampleRequest, type PlacedOperation, type Target } from "./example-request.ts";
import { memberTable, schemaAnchor, schemaHtml } from "./page-schema.ts";
import { LANGUAGES, snippetOf } from "./snippets.ts";
import { html, type Html, inline } from "./html.ts";
import { descriptionOf } from "./schema-text.ts";
import type { OpenApi, Operation, Parameter, Response } from "./openapi-types.ts";
import { twinOf } from "./twins.ts";

const JSON_TYPE = "application/json";

/** An operation with those that take and return the same. */
interface Placed extends PlacedOperation {
	twins: PlacedOperation[];
}

export function docsPage(document: OpenApi, target: Target): string {
	const operations: PlacedOperation[] = Object.entries(document.paths).flatMap(([path, item]) =>
		Object.entries(item).map(([method, operation]) => ({ method, path, operation })),
	);
	const twins = Map.groupBy(operations, (each) => twinOf(each, document));
	const groups = document.tags.map((tag) => ({
		...tag,
		members: (twins.get(undefined) ?? [])
			.filter(({ operation }) => operation.tags.includes(tag.name))
			.map((each) => ({ ...each, twins: twins.get(each.operation.operationId) ?? [] })),
	}));
	const { info } = document;
	return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${info.title} API</title>
<link rel="icon" href="${ICON}">
<link rel="stylesheet" href="page.css">
</head>
<body>
<a class="skip" href="#content">Skip to the content</a>
<header class="top"><a class="brand" href="../">${MARK}${info.title}</a>
<a class="version" href="../">Documentation</a>
<span class="version">API ${info.version}</span><a class="raw" href="../../openapi.json">openapi.json</a>
${languages()}</header>
<div class="columns">
<nav aria-label="Operations">
<search hidden><input id="search" type="search" placeholder="Search: path, word, error code" title="Key: /"
aria-label="Search operations" autocomplete="off" spellcheck="false"></search>
<details open><summary>Operations</summary>${groups.map(group)}
<h2 data-group="group-schemas"><a href="#group-schemas">Shapes</a></h2></details></nav>
<main id="content">
<p id="none" class="none" role="status" hidden></p>
<section class="intro"><h1>${info.title} API</h1>${prose(info.description)}${before(target)}</section>
${groups.map(
	({ name, description, members }) => html`<section class="group" aria-labelledby="${anchor(name)}">
<h2 id="${anchor(name)}">${name}</h2><p>${description}</p>
${members.map((each) => article(each, target))}</section>`,
)}
${schemas(document)}
</main>
</div>
<script src="page.js" defer></script>
</body>
</html>
`.html;
}

/** The sign of the console. */
const SIGN = "M7 8h18M7 24c3-3 6-3 9 0s6 3 9 0M7 18c3-3 6-3 9 0s6 3 9 0M11 8v5M16 8v6M21 8v5";
export const ICON_SVG =
	'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="7" fill="#0b6e8f"/>' +
	`<path d="${SIGN}" fill="none" stroke="#fff" stroke-width="2.4" stroke-linecap="round"/></svg>`;
const ICON = `data:image/svg+xml,${encodeURIComponent(ICON_SVG)}`;
const MARK = html`<svg viewBox="0 0 32 32" width="22" height="22" aria-hidden="true">
<rect width="32" height="32" rx="7"/><path d="${SIGN}"/></svg>`;

const checked = (at: number): Html => html`${at === 0 ? " checked" : ""}`;

function languages(): Html {
	const choices = LANGUAGES.map((name, at) => {
		const id = `language-${name.toLowerCase()}`;
		return html`<label><input type="radio" name="language" id="${id}"${checked(at)}>${name}</label>`;
	});
	return html`<fieldset><legend class="hidden">Language of the examples</legend>${choices}</fieldset>`;
}

function group({ name, members }: { name: string; members: readonly Placed[] }): Html {
	const items = members.map(
		({ method, path, operation }) => html`<li><a href="#${operation.operationId}">
<span class="verb ${method}">${method}</span><span>${pathParts(shortPath(path))}</span></a></li>`,
	);
	const id = anchor(name);
	return html`<h2 data-group="${id}"><a href="#${id}">${name}</a></h2><ul>${items}</ul>`;
}

/** Setup for the examples; form for their endpoint. */
function before({ address, endpoint }: Target): Html {
	const lines = [
		"export SLUICE_API_KEY=...   # your key",
		`export JOB=$(curl -s "${address}/v2/${endpoint}/run" -H "Authorization: Bearer $SLUICE_API_KEY" ` +
			`-d '{"input":{}}' | cut -d '"' -f 4)`,
	];
	return html`<h2 id="before">Before you paste</h2>
<p>The examples on this page call <strong>${address}</strong>. Click one to select all of it. Those in Python
need <code>requests</code>; those in JavaScript run as <code>.mjs</code> with Node.</p>
<form method="get"><label for="endpoint">Endpoint of the examples</label>
<input id="endpoint" name="endpoint" value="${endpoint}" pattern="[a-zA-Z0-9_\\-]{1,64}" maxlength="64"
required autocomplete="off" spellcheck="false"><button>Use it</button></form>
<pre tabindex="0"><code>${lines.join("\n")}</code></pre>
<p>Replace <code>DELIVERY</code> and <code>KEY_ID</code> with ids from the list operations. For the examples of
workers, run <code>eval "$(npx sluice worker-env ${endpoint} --format shell)"</code>.</p>`;
}

function article(placed: Placed, target: Target): Html {
	const { method, path, operation, twins } = placed;
	const { operationId, summary, description, parameters = [], requestBody, responses } = operation;
	const request = exampleRequest(placed, target);
	const examples = LANGUAGES.map(
		(language) =>
			html`<pre data-language="${language.toLowerCase()}" tabindex="0"><code>${snippetOf(
				request,
				language,
			)}</code></pre>`,
	);
	return html`<article id="${operationId}"><h3><a href="#${operationId}" aria-label="Link to ${operationId}">
<span class="verb ${method}">${method}</span><span class="path">${pathParts(path)}</span></a></h3>
<div class="about"><p class="summary">${summary}</p><p class="notes">${description}</p>${also(twins)}</div>
<div class="example">${examples}${exampleAnswers(responses)}</div>
<div class="folds">${parameters.length > 0 ? fold("Parameters", parameterTable(parameters)) : undefined}
${requestBody ? fold("Body", bodyHtml(requestBody)) : undefined}
${Object.entries(responses)
	.filter(([status]) => status.startsWith("2"))
	.map(([status, response]) => fold(`Answer ${status}`, answer(response)))}
${fold("Errors", errors(responses))}</div></article>`;
}

function exampleAnswers(responses: Operation["responses"]): Html[] {
	return Object.entries(responses).flatMap(([status, { content = {} }]) =>
		Object.values(content).flatMap(({ example }) => {
			if (!status.startsWith("2") || example === undefined) return [];
			const text = typeof example === "string" ? example : JSON.stringify(example, undefined, 2);
			return html`<p class="media">Answer ${status}</p><pre class="answer" tabindex="0"><code>${text}</code></pre>`;
		}),
	);
}

/** Other methods and paths of the same. */
function also(twins: readonly PlacedOperation[]): Html | undefined {
	if (twins.length === 0) return undefined;
	const each = twins.map(
		({ method, path, operation }, at) =>
			html`${at === 0 ? "" : ", "}<code id="${operation.operationId}">${method.toUpperCase()}
${pathParts(path)}</code>`,
	);
	return html`<p class="also">The same: ${each}.</p>`;
}

function parameterTable(parameters: readonly Parameter[]): Html {
	return memberTable(
		parameters.map(({ name, required, schema, description, in: place }) => ({
			name,
			required: required && place !== "path",
			schema: {
				...schema,
				description: place === "header" ? `Header. ${description}` : description,
			},
		})),
	);
}

function bodyHtml({ description, content }: NonNullable<Operation["requestBody"]>): Html {
	return html`<p>${inline(description)}</p>${schemaHtml(Object.values(content)[0]!.schema)}`;
}

function fold(title: string, content: Html): Html {
	return html`<details class="fold"><summary>${title}</summary><div>${content}</div></details>`;
}

function answer({ description, headers = {}, content = {} }: Response): Html {
	const media = Object.entries(content).map(([type, { schema }]) => {
		const shape = type === JSON_TYPE ? schemaHtml(schema) : html`<p>${descriptionOf(schema)}</p>`;
		return html`<p class="media">${type}</p>${shape}`;
	});
	const items = Object.entries(headers)
		.filter(([, header]) => header.description !== undefined)
		.map(([name, header]) => html`<li><code>${name}</code>: ${String(header.description)}</li>`);
	return html`<p>${inline(description)}</p>${media}
${items.length > 0 ? html`<ul>${items}</ul>` : undefined}`;
}

function errors(responses: Operation["responses"]): Html {
	const rows = Object.entries(responses)
		.filter(([status]) => !status.startsWith("2"))
		.map(([status, { content = {} }]) => {
			const codes = Object.keys(Object.values(content)[0]?.examples ?? {});
			return html`<tr><td>${status === "default" ? "others" : status}</td>
<td>${codes.map((code) => html`<code>${code}</code> `)}</td></tr>`;
		});
	return html`<table><thead><tr><th>Status</th><th>Codes</th></tr></thead><tbody>${rows}</tbody></table>`;
}

function schemas({ components }: OpenApi): Html {
	const cards = Object.entries(components.schemas).map(([name, schema]) => {
		const id = schemaAnchor(name);
		const text = descriptionOf(schema);
		return html`<article id="${id}"><h3><a href="#${id}">${name}</a></h3>
${text === "" ? undefined : html`<p class="notes">${text}</p>`}${schemaHtml(schema)}</article>`;
	});
	return html`<section class="group" aria-labelledby="group-schemas"><h2 id="group-schemas">Shapes</h2>
<p>What answers consist of. Members that are not required may be missing; later versions may add some.</p>
${cards}</section>`;
}

/** Marks parameters; allows line breaks after slashes. */
function pathParts(path: string): Html[] {
	return path
		.split(/(\{\w+\})/)
		.map((part) => (part.startsWith("{") ? html`<var>${part}</var>` : html`${part.replaceAll("/", "/\u200b")}`));
}

/** Without the prefix of its group. */
function shortPath(path: string): string {
	return path.replace(/^(\/sdk)?\/v2\/\{endpoint\}|^\/worker\/\{endpoint\}|^\/v1/, "");
}

function anchor(tag: string): string {
	return `group-${tag.toLowerCase().replaceAll(/[^a-z]+/g, "-")}`;
}

function prose(text: string): Html[] {
	return text.split(/\n\n+/).map((paragraph) => html`<p>${inline(paragraph)}</p>`);
}
