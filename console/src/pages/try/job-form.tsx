/** A job with an input written here, and what comes of it as it comes. */
import { type ReactNode, useDeferredValue, useEffect, useRef, useState } from "react";
import { Disclosure, DisclosurePanel, Button as AriaButton, FileTrigger, Heading } from "react-aria-components";
import { Failure, askText, ofEndpoint } from "../../client/api.ts";
import { markOf, withFiles } from "../../values/attachments.ts";
import { pretty, readExact } from "../../text/exact.ts";
import { INPUTS, recall, remember } from "../../client/memory.ts";
import { Button } from "../../parts/button.tsx";
import { Checkbox, TextField } from "../../parts/field.tsx";
import { Icon } from "../../parts/icons.tsx";
import { Refusal } from "../../parts/notice.tsx";
import { usePlace } from "../../client/router.ts";
import { type SentJob, submitTo } from "./submit.ts";
import { T } from "../../text/text.ts";
import { Results } from "./results.tsx";

/** Inputs that are remembered for each endpoint, and the longest one. */
const REMEMBERED = 10;
const LONGEST = 20_000;

const FIRST = '{\n  "prompt": "hello"\n}';

/**
 * `example`: what the form begins with where this browser has sent nothing yet. The job is sent to
 * each of the endpoints; inputs are remembered for the first.
 */
export function JobForm({
	endpoints,
	example,
}: {
	endpoints: readonly [string, ...string[]];
	example: unknown;
}): ReactNode {
	const [id] = endpoints;
	const { query } = usePlace();
	const memory = INPUTS + id;
	const [past, setPast] = useState(() => known(recall(memory)));
	const [input, setInput] = useState(() => past[0] ?? (example === undefined ? FIRST : pretty(example)));
	const [files, setFiles] = useState<readonly File[]>([]);
	const [policy, setPolicy] = useState({
		executionTimeout: "",
		ttl: "",
		webhook: "",
		lowPriority: false,
	});
	const [failure, setFailure] = useState<Failure | undefined>(undefined);
	const [jobs, setJobs] = useState<readonly SentJob[]>([]);
	const [busy, setBusy] = useState(false);
	const form = useRef<HTMLFormElement>(null);
	const like = query.get("like");
	const fault = faultOf(useDeferredValue(input));

	useEffect(() => {
		if (like === null) return;
		askText(ofEndpoint(id, `/jobs/${encodeURIComponent(like)}`)).then(
			(text) => setInput(pretty((readExact(text) as { input?: unknown }).input ?? {})),
			(error: unknown) => (error instanceof Failure ? setFailure(error) : undefined),
		);
	}, [id, like]);

	const send = async (): Promise<void> => {
		setFailure(undefined);
		if (faultOf(input) !== undefined) return form.current?.querySelector("textarea")?.focus();
		setBusy(true);
		try {
			const filled = await withFiles(input, files);
			if ("missing" in filled) throw new Failure(400, { error: T.try.missing(filled.missing), code: "no_file" });
			// The input goes as it was typed: numbers and their order are the worker's business (D5).
			const rest = JSON.stringify(restOf(policy)).slice(1);
			const text = `{"input":${filled.text}${rest === "}" ? "" : ","}${rest}`;
			setJobs(await submitTo(endpoints, text));
			if (input.length <= LONGEST) {
				const next = [input, ...past.filter((each) => each !== input)].slice(0, REMEMBERED);
				setPast(next);
				remember(memory, next);
			}
		} catch (error) {
			if (!(error instanceof Failure)) throw error;
			setFailure(error);
		} finally {
			setBusy(false);
		}
	};

	const attach = (list: FileList | null): void => {
		if (!list) return;
		const area = form.current?.querySelector("textarea");
		const marks = [...list].map(({ name }) => JSON.stringify(markOf(name))).join(", ");
		const [from, to] = [area?.selectionStart ?? input.length, area?.selectionEnd ?? input.length];
		setFiles((last) => [...last.filter(({ name }) => ![...list].some((file) => file.name === name)), ...list]);
		setInput(input.slice(0, from) + marks + input.slice(to));
	};

	return (
		<div className="try">
			<form
				ref={form}
				className="stack card"
				onSubmit={(event) => {
					event.preventDefault();
					void send();
				}}
			>
				<TextField
					label={T.try.input}
					value={input}
					onChange={setInput}
					lines={Math.min(24, Math.max(8, input.split("\n").length + 1))}
					mono
					code
					fault={fault}
					hint={T.try.keys}
					onSend={() => form.current?.requestSubmit()}
				/>
				<div className="actions">
					<FileTrigger allowsMultiple onSelect={attach}>
						<AriaButton className="button plain" type="button">
							<Icon name="clip" />
							<span>{T.try.attach}</span>
						</AriaButton>
					</FileTrigger>
					<Button look="quiet" onPress={() => setInput(formatted(input))}>
						{T.try.format}
					</Button>
					{files.length > 0 ? (
						<span className="hint">{T.try.files(files.map(({ name }) => name).join(", "))}</span>
					) : null}
				</div>
				<Disclosure className="disclosure">
					<Heading level={2}>
						<AriaButton slot="trigger" className="button quiet">
							<Icon name="right" />
							<span>{T.try.options}</span>
						</AriaButton>
					</Heading>
					<DisclosurePanel className="stack">
						<div className="two">
							<TextField
								label={T.job.executionTimeout}
								unit="ms"
								number
								value={policy.executionTimeout}
								onChange={(executionTimeout) => setPolicy({ ...policy, executionTimeout })}
								hint={T.try.executionTimeout}
							/>
							<TextField
								label={T.job.ttl}
								unit="ms"
								number
								value={policy.ttl}
								onChange={(ttl) => setPolicy({ ...policy, ttl })}
								hint={T.try.ttl}
							/>
						</div>
						<TextField
							label={T.job.webhook}
							value={policy.webhook}
							onChange={(webhook) => setPolicy({ ...policy, webhook })}
							placeholder="https://"
							mono
						/>
						<Checkbox checked={policy.lowPriority} onChange={(lowPriority) => setPolicy({ ...policy, lowPriority })}>
							{T.try.lowPriority}
						</Checkbox>
					</DisclosurePanel>
				</Disclosure>
				{failure ? <Refusal failure={failure} /> : null}
				<div className="actions">
					<Button look="main" icon="send" busy={busy}>
						{T.try.send}
					</Button>
				</div>
				<Past
					past={past}
					choose={setInput}
					forget={() => {
						setPast([]);
						remember(memory, undefined);
					}}
				/>
			</form>
			<Results jobs={jobs} />
		</div>
	);
}

function Past({
	past,
	choose,
	forget,
}: {
	past: readonly string[];
	choose: (input: string) => void;
	forget: () => void;
}): ReactNode {
	if (past.length === 0) return null;
	return (
		<details className="past">
			<summary>{T.try.past(past.length)}</summary>
			<ul>
				{past.map((each) => (
					<li key={each}>
						<button type="button" className="mono" onClick={() => choose(each)}>
							{each.replace(/\s+/g, " ").slice(0, 200)}
						</button>
					</li>
				))}
			</ul>
			<Button look="quiet" onPress={forget}>
				{T.try.forget}
			</Button>
		</details>
	);
}

function known(value: unknown): readonly string[] {
	return Array.isArray(value)
		? value.filter((each): each is string => typeof each === "string").slice(0, REMEMBERED)
		: [];
}

/** Why the text is no input, as a sentence. */
function faultOf(text: string): string | undefined {
	try {
		const value: unknown = JSON.parse(text);
		return typeof value === "object" && value !== null && !Array.isArray(value) ? undefined : T.try.notObject;
	} catch (error) {
		return T.try.notJson(error instanceof Error ? error.message : String(error));
	}
}

function formatted(text: string): string {
	try {
		return pretty(readExact(text));
	} catch {
		return text;
	}
}

/** What goes next to the input; the service checks it. */
function restOf({
	executionTimeout,
	ttl,
	webhook,
	lowPriority,
}: {
	executionTimeout: string;
	ttl: string;
	webhook: string;
	lowPriority: boolean;
}): Record<string, unknown> {
	const wish = (text: string): number | string => (/^\s*\d+\s*$/.test(text) ? Number(text) : text);
	const policy = {
		...(executionTimeout === "" ? {} : { executionTimeout: wish(executionTimeout) }),
		...(ttl === "" ? {} : { ttl: wish(ttl) }),
		...(lowPriority ? { lowPriority } : {}),
	};
	return {
		...(Object.keys(policy).length > 0 ? { policy } : {}),
		...(webhook === "" ? {} : { webhook }),
	};
}
