/** The form of a preset: a file or its address, and the texts of its jobs. The output begins with its text. */
import { type ReactNode, useState } from "react";
import { Failure } from "../../client/api.ts";
import { INPUTS, recall, remember } from "../../client/memory.ts";
import { exampleUrl, type FileSource, inputOf, textsOf, type Typed } from "../../modules/http-workers/preset-forms.ts";
import { Button } from "../../parts/button.tsx";
import { TextField } from "../../parts/field.tsx";
import { Refusal } from "../../parts/notice.tsx";
import { T } from "../../text/text.ts";
import { dataUrl } from "../../values/attachments.ts";
import { FileField, fileFault } from "./file-field.tsx";
import type { ProposedForm } from "./proposed-input.ts";
import { Results } from "./results.tsx";
import { type SentJob, submitTo } from "./submit.ts";

export function PresetJobForm({
	endpoints,
	proposed,
}: {
	endpoints: readonly [string, ...string[]];
	proposed: ProposedForm;
}): ReactNode {
	const { form, example } = proposed;
	const memory = `${INPUTS}form.${endpoints[0]}`;
	const [typed, setTyped] = useState<Typed>(() => (recall(memory) as Typed | undefined) ?? {});
	const [file, setFile] = useState<File | undefined>(undefined);
	const [fault, setFault] = useState<string | undefined>(undefined);
	const [failure, setFailure] = useState<Failure | undefined>(undefined);
	const [jobs, setJobs] = useState<readonly SentJob[]>([]);
	const [busy, setBusy] = useState(false);
	const texts = Object.fromEntries(
		Object.entries(textsOf(form, example)).map(([name, value]) => [name, typed[name] ?? value]),
	);
	const url = (form.file && typed[form.file.member]) ?? exampleUrl(form, example);
	const ready = form.file ? fault === undefined && (file !== undefined || url.trim() !== "") : true;

	const choose = (next: File | undefined): void => {
		setFile(next);
		setFault(next && fileFault(next));
	};
	const send = async (): Promise<void> => {
		if (!ready || busy) return;
		setFailure(undefined);
		setBusy(true);
		try {
			const source = await sourceOf(file, url);
			if (source === undefined) return setFault(T.form.unreadable(file!.name));
			remember(memory, typed);
			setJobs(await submitTo(endpoints, JSON.stringify({ input: inputOf(proposed, texts, source) })));
		} catch (error) {
			if (!(error instanceof Failure)) throw error;
			setFailure(error);
		} finally {
			setBusy(false);
		}
	};
	const change = (name: string, text: string): void => setTyped({ ...typed, [name]: text });
	return (
		<div className="try">
			<form
				className="card stack"
				onSubmit={(event) => {
					event.preventDefault();
					void send();
				}}
			>
				{form.file ? (
					<>
						<FileField
							label={T.form.files[form.file.kind]}
							accept={form.file.accept}
							file={file}
							fault={fault}
							onChange={choose}
							heard={form.file.kind === "audio"}
						/>
						<TextField
							label={T.form.url}
							value={url}
							onChange={(text) => change(form.file!.member, text)}
							hint={file ? T.form.urlUnused : T.form.urlHint}
							disabled={file !== undefined}
							mono
						/>
					</>
				) : null}
				{Object.entries(texts).map(([name, text]) => (
					<TextField
						key={name}
						label={T.form.members[name] ?? name}
						api={name}
						value={text}
						onChange={(next) => change(name, next)}
						{...(name === form.text ? { lines: 4, onSend: () => void send() } : {})}
					/>
				))}
				{failure ? <Refusal failure={failure} /> : null}
				<div className="actions">
					<Button look="main" icon="send" busy={busy} disabled={!ready}>
						{T.try.send}
					</Button>
				</div>
				<p className="hint">{T.form.rest}</p>
			</form>
			<Results jobs={jobs} textFirst />
		</div>
	);
}

/** Undefined for a file that the browser cannot read any more, such as after its removal. */
async function sourceOf(file: File | undefined, url: string): Promise<FileSource | undefined> {
	if (!file) return { url: url.trim() };
	try {
		return { name: file.name, dataUrl: await dataUrl(file) };
	} catch {
		return undefined;
	}
}
