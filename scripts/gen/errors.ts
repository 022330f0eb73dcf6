/** `docs/reference/errors.md`: every code of the table, and what to do. */
import { type ErrorCode, ERRORS, type ModuleError } from "../../src/kernel/core/error-table.ts";
import { MODULES } from "../../src/modules/index.ts";
import { code, type Page, plain, table } from "./markdown.ts";

/** What the client should do, for each code. */
const ADVICE: Readonly<Record<ErrorCode, string>> = {
	bad_json: "Send one JSON object. The sentence names the place of the fault.",
	bad_form: "Send a form as browsers do, with the boundary of its Content-Type. The sentence names the fault.",
	bad_request: "Correct the fields in `details`, all at once.",
	bad_query: "Correct the parameter in `details`.",
	bad_http: "Check the client or the proxy: the request is not valid HTTP.",
	https_only: "Use https:// in the address; proxies too.",
	unauthorized: "Check the key, its scope and its endpoints. Without a valid key an unknown endpoint is 401 too.",
	forbidden: "Use a key with the scope `admin`. Of management operations only.",
	worker_unauthorized: "Start the worker with new variables. Refused polls are answered after 5 s.",
	endpoint_not_found: "Check the id in the path.",
	job_not_found: "Request it earlier, or raise the retention of the endpoint.",
	key_not_found: "List the keys.",
	resource_not_found: "List those that exist. Of management operations only.",
	worker_not_found: "List the workers of the endpoint; logs of ended ones are kept for 24 h.",
	worker_gone: "List the workers of the endpoint.",
	path_not_found: "Check the path; `/docs` lists all.",
	method_not_allowed: "Use a method of the `Allow` header.",
	job_not_retryable: "Submit a new job instead.",
	idempotency_reused: "Choose a new key.",
	idempotency_expired: "Choose a new key.",
	endpoint_changed: "Send it again. With several servers only.",
	endpoint_unreadable: "Update this server, or set all settings with PUT.",
	endpoint_exists: "Change it, or choose another id.",
	last_admin_key: "Create another admin key first.",
	workers_external: "Start them yourself; `sluice worker-env` prints their variables.",
	worker_not_launched: "Stop it where it was started, or pause the endpoint.",
	duplicate_worker_id: "Give each worker an id of its own.",
	body_too_large: "Put large files into storage and send their URLs.",
	part_too_large: "Send a smaller file or value.",
	unsupported_encoding: "Send the body plain, or as gzip, br or deflate.",
	bad_encoding: "Compress the body as `Content-Encoding` says, or leave the header out.",
	headers_too_large: "Send fewer or shorter headers.",
	request_timeout: "Send it again.",
	rate_limited: "Wait for `Retry-After`, then with exponential backoff.",
	too_many_at_once: "Wait for some of your own requests to end.",
	too_many_worker_ids: "Keep one id for each worker, or make another token. Refused polls are answered after 5 s.",
	too_many_failures: "Use a valid key, token or link: those pass.",
	management_busy: "Wait for some of your own requests to end.",
	documents_busy: "Wait for some requests of your address to be answered.",
	memory_share: "Read answers to the end, and send fewer large requests at once.",
	queue_full: "Wait for `Retry-After`, then with exponential backoff, or raise `workersMax`.",
	quota_full: "Wait for results to expire, shorten `retention`, or raise `limits.storedMb` of the endpoint.",
	gpu_quota_used: "Wait for midnight UTC (`Retry-After`), or raise `limits.gpuSecondsPerDay` of the endpoint.",
	draining: "Repeat it: another server or the next start continues.",
	internal: "Search the log for the reference, and report the fault.",
	not_ready: "Use another server, or repeat it after `Retry-After`.",
	store_unavailable: "Send it again after `Retry-After`; nothing was accepted.",
	store_full: "Wait for results to expire, shorten `retention`, or raise `budgets.stored`.",
	memory_spent: "Wait for `Retry-After`. If it persists, raise `budgets.memory`.",
	outcome_unknown: "Check whether it was done, or send it again with the same `Idempotency-Key`.",
};

export const errors: Page = {
	file: "errors.md",
	title: "Errors",
	about: "every code, its status, its sentence, and what to do",
	body() {
		const own = Object.entries(ERRORS).map(([name, entry]) => [name, { ...entry, advice: ADVICE[name as ErrorCode] }]);
		const modules = MODULES.flatMap((module) => Object.entries(module.errors ?? {}));
		const entries = [...own, ...modules] as [string, Omit<ModuleError, "code">][];
		const overview = table(
			["Code", "Status", "What to do"],
			entries.map(([name, { status, advice }]) => [`[${name}](#${name})`, String(status), advice]),
		);
		const sections = entries.map(([name, { status, sentence, retryAfter, advice }]) => {
			const wait = retryAfter === undefined ? "" : `, with \`Retry-After\` (${retryAfter} s by default)`;
			return `### ${name}\n\n${status}${wait}. ${advice}\n\n> ${plain(sentence)}`;
		});
		return [
			'Every error is JSON: `{"error": sentence, "code": word}`, and for a 400 `details` with each ' +
				`bad field. No error has a member ${code("status")} or ${code("id")}. Under \`/openai/\` ` +
				'they are `{"error": {"message", "type", "param", "code"}}`, with the same codes.',
			overview,
			"## Sentences",
			"Words in braces are replaced.",
			...sections,
		].join("\n\n");
	},
};
