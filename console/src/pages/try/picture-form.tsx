/** A form for workers that make pictures: prompt, size, seed, and the pictures that came. */
import { type ReactNode, useState } from "react";
import { Failure } from "../../client/api.ts";
import { INPUTS, recall, remember } from "../../client/memory.ts";
import { Button } from "../../parts/button.tsx";
import { Checkbox, TextField } from "../../parts/field.tsx";
import { Empty, Refusal } from "../../parts/notice.tsx";
import { hasPrompt, PICTURE_EXAMPLE, pictureFields, pictureInput, type PictureRole } from "./picture-form.ts";
import { type SentJob, submitTo } from "./submit.ts";
import { T } from "../../text/text.ts";
import { PictureOutcome } from "./picture-outcome.tsx";

/** Results that stay on the page. */
const KEPT = 8;

type Typed = Readonly<Partial<Record<PictureRole, string>>>;

export function PictureForm({
	endpoints,
	example,
	promptless,
	toJob,
}: {
	endpoints: readonly [string, ...string[]];
	/** The input of the newest job; undefined where there is none to read. */
	example: unknown;
	/** That input has no prompt. */
	promptless: boolean;
	/** Shows the form for any job in place of this one. */
	toJob: () => void;
}): ReactNode {
	const known = hasPrompt(example);
	const shape = known ? example : PICTURE_EXAMPLE;
	const fields = pictureFields(shape);
	const memory = `${INPUTS}picture.${endpoints[0]}`;
	const [typed, setTyped] = useState<Typed>(() => (recall(memory) as Typed | undefined) ?? {});
	const [fresh, setFresh] = useState(true);
	const [sent, setSent] = useState<readonly SentJob[]>([]);
	const [failure, setFailure] = useState<Failure | undefined>(undefined);
	const [busy, setBusy] = useState(false);
	const seeded = fields.some(({ role }) => role === "seed");
	const prompt = typed.prompt ?? fields.find(({ role }) => role === "prompt")?.value ?? "";
	const ready = !promptless && prompt.trim() !== "";

	const send = async (): Promise<void> => {
		if (!ready || busy) return;
		const now = seeded && fresh ? { ...typed, seed: String(randomSeed()) } : typed;
		setTyped(now);
		remember(memory, now);
		setFailure(undefined);
		setBusy(true);
		try {
			const input = pictureInput(shape, fields, now);
			const jobs = await submitTo(endpoints, JSON.stringify({ input }));
			setSent((last) => [...jobs, ...last].slice(0, KEPT));
		} catch (error) {
			if (!(error instanceof Failure)) throw error;
			setFailure(error);
		} finally {
			setBusy(false);
		}
	};
	return (
		<div className="try">
			<form
				className="card stack"
				onSubmit={(event) => {
					event.preventDefault();
					void send();
				}}
			>
				<div className="picture-fields">
					{fields.map(({ role, value, number }) => (
						<div key={role} className={number || role === "size" ? "" : "whole-line"}>
							<TextField
								label={T.picture.roles[role]}
								value={typed[role] ?? value}
								onChange={(text) => setTyped({ ...typed, [role]: text })}
								number={number}
								disabled={role === "seed" && fresh}
								{...(role === "prompt" || role === "negative" ? { lines: 3 } : {})}
								{...(role === "prompt" ? { onSend: () => void send(), enterSends: true } : {})}
							/>
						</div>
					))}
				</div>
				{seeded ? (
					<Checkbox checked={fresh} onChange={setFresh}>
						{T.picture.randomSeed}
					</Checkbox>
				) : null}
				<p className="hint">{promptless ? T.picture.noPrompt : known ? T.picture.fromLast : T.picture.fromNone}</p>
				{failure ? <Refusal failure={failure} /> : null}
				<div className="actions">
					<Button look="main" icon="send" busy={busy} disabled={!ready}>
						{T.picture.generate}
					</Button>
					{promptless ? <Button onPress={toJob}>{T.picture.toJob}</Button> : null}
				</div>
			</form>
			<section className="results" aria-label={T.try.result}>
				{sent.length === 0 ? (
					<div className="card">
						<Empty title={T.picture.nothing}>{T.picture.next}</Empty>
					</div>
				) : (
					<div className={endpoints.length > 1 ? "two-chats" : "results"}>
						{sent.map(({ endpoint, job }) => (
							<PictureOutcome key={job} endpoint={endpoint} job={job} named={endpoints.length > 1} />
						))}
					</div>
				)}
			</section>
		</div>
	);
}

/** Workers usually take 32 bits without a sign. */
function randomSeed(): number {
	return crypto.getRandomValues(new Uint32Array(1))[0]!;
}
