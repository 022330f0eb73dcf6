/** A chat with one endpoint, or the same one with two: settings, messages, how fast answers come. */
import { type ReactNode, useEffect, useRef, useState } from "react";
import { useAct } from "../../parts/act.ts";
import { chatBody, type ChatSettings, messagesOf } from "../../values/chat/chat-format.ts";
import { modelsOf } from "../../values/chat/chat.ts";
import { type Conversation, useConversation } from "../../values/chat/conversation.ts";
import { INPUTS, recall, remember } from "../../client/memory.ts";
import { Button } from "../../parts/button.tsx";
import { TextField } from "../../parts/field.tsx";
import { toast } from "../../parts/toast.tsx";
import { T } from "../../text/text.ts";
import { ChatCode } from "./chat-code.tsx";
import { Transcript } from "./transcript.tsx";

type Shared = Omit<ChatSettings, "model">;

const DEFAULTS: Shared = { system: "", temperature: "", maxTokens: "" };

/** Under these names the browser keeps the settings, without a dot that an id could have. */
const sharedKey = (endpoint: string): string => `${INPUTS}chat.${endpoint}`;
const modelKey = (endpoint: string): string => `${INPUTS}model.${endpoint}`;

const textOf = (value: unknown): string => (typeof value === "string" ? value : "");

export function ChatForm({
	endpoints: [first, second],
	usual,
}: {
	endpoints: readonly [string, ...string[]];
	/** Model of the newest chats of the first. */
	usual: string;
}): ReactNode {
	const [shared, setShared] = useState<Shared>(() => ({
		...DEFAULTS,
		...(recall(sharedKey(first)) as Partial<Shared> | undefined),
	}));
	const [models, setModels] = useState<Readonly<Record<string, string>>>(() =>
		Object.fromEntries(
			[first, second ?? ""].map((id) => [id, textOf(recall(modelKey(id))) || (id === first ? usual : "")]),
		),
	);
	const [message, setMessage] = useState("");
	const [coding, setCoding] = useState(false);
	// Both hooks always run; the second one rests without a second endpoint.
	const left = useConversation(first);
	const right = useConversation(second ?? "");
	const columns: [string, Conversation][] = [
		[first, left],
		...(second === undefined ? [] : ([[second, right]] as [string, Conversation][])),
	];
	const busy = left.busy || right.busy;
	const settingsOf = (id: string): ChatSettings => ({ ...shared, model: models[id] ?? "" });
	const field = useRef<HTMLDivElement>(null);
	useEffect(() => field.current?.querySelector("textarea")?.focus({ preventScroll: true }), []);

	const change = (part: Partial<Shared>): void => {
		const next = { ...shared, ...part };
		setShared(next);
		remember(sharedKey(first), next);
	};
	const send = (): void => {
		if (busy || message.trim() === "") return;
		for (const [id, conversation] of columns) void conversation.send(message, settingsOf(id));
		setMessage("");
	};
	return (
		<div className="chat-grid">
			<section className="card stack" aria-label={T.chat.settings}>
				{columns.map(([id]) => (
					<Model
						key={id}
						endpoint={id}
						label={second === undefined ? T.chat.model : T.chat.modelOf(id)}
						value={models[id] ?? ""}
						onChange={(model) => {
							setModels({ ...models, [id]: model });
							remember(modelKey(id), model);
						}}
					/>
				))}
				<TextField label={T.chat.system} value={shared.system} onChange={(system) => change({ system })} lines={3} />
				<TextField
					label={T.chat.temperature}
					value={shared.temperature}
					onChange={(temperature) => change({ temperature })}
					hint={T.chat.temperatureHint}
				/>
				<TextField
					label={T.chat.maxTokens}
					value={shared.maxTokens}
					onChange={(maxTokens) => change({ maxTokens })}
					hint={T.chat.maxTokensHint}
					number
				/>
			</section>
			<div className="stack">
				<div className={second === undefined ? "chats" : "chats two-chats"}>
					{columns.map(([id, { exchanges, busy: answering }]) => (
						<Transcript key={id} endpoint={id} exchanges={exchanges} busy={answering} />
					))}
				</div>
				<form
					className="card stack"
					onSubmit={(event) => {
						event.preventDefault();
						send();
					}}
				>
					<div ref={field}>
						<TextField
							label={T.chat.message}
							value={message}
							onChange={setMessage}
							lines={3}
							hint={T.chat.messageHint}
							onSend={send}
							enterSends
						/>
					</div>
					<div className="actions">
						{busy ? (
							<Button look="main" icon="stop" onPress={() => columns.forEach(([, { stop }]) => stop())}>
								{T.chat.stop}
							</Button>
						) : (
							<Button look="main" icon="send" disabled={message.trim() === ""}>
								{T.chat.send}
							</Button>
						)}
						<Button look="quiet" icon="copy" onPress={() => setCoding(true)}>
							{T.chat.code}
						</Button>
						{left.exchanges.length === 0 ? null : (
							<Button look="quiet" onPress={() => columns.forEach(([, { clear }]) => clear())}>
								{T.chat.clear}
							</Button>
						)}
					</div>
				</form>
			</div>
			{coding ? (
				<ChatCode
					endpoint={first}
					body={chatBody(settingsOf(first), [
						...messagesOf(left.exchanges),
						{ role: "user", content: message.trim() === "" ? "hello" : message },
					])}
					close={() => setCoding(false)}
				/>
			) : null}
		</div>
	);
}

/** The name of the model; the worker is asked for its list on demand, as this is a job. */
function Model({
	endpoint,
	label,
	value,
	onChange,
}: {
	endpoint: string;
	label: string;
	value: string;
	onChange: (model: string) => void;
}): ReactNode {
	const [known, setKnown] = useState<readonly string[] | undefined>(undefined);
	const { busy, run } = useAct();
	const list = (): Promise<boolean> =>
		run(async () => {
			const models = await modelsOf(endpoint);
			setKnown(models);
			if (models.length === 0) toast({ text: T.chat.noModels });
			else if (!models.includes(value)) onChange(models[0]!);
		});
	return (
		<div className="stack">
			<TextField label={label} value={value} onChange={onChange} hint={T.chat.modelHint} suggestions={known} mono />
			<div className="actions">
				<Button look="quiet" busy={busy} onPress={() => void list()}>
					{T.chat.models}
				</Button>
			</div>
		</div>
	);
}
