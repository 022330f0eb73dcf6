/** The messages of a chat job and its answer as one conversation; both as JSON too. */
import { type ReactNode, useState } from "react";
import { ToggleButton, ToggleButtonGroup } from "react-aria-components";
import { T } from "../../text/text.ts";
import { textOf, type Turn, turnsOf } from "../../values/views.ts";
import { JsonView } from "./json-view.tsx";
import { Chat } from "./value-view.tsx";

const VIEWS = ["chat", "input", "output"] as const;
const NAMES = { chat: T.views.chat, input: T.job.input, output: T.job.output };

/** The turns of both; undefined where the job is no chat with an answer. */
export function conversationOf(input: unknown, output: unknown): readonly Turn[] | undefined {
	const asked = turnsOf(input);
	if (!asked || output === undefined) return undefined;
	const answer = textOf(output);
	const said = turnsOf(output) ?? (answer === undefined ? undefined : [{ role: "assistant", text: answer }]);
	return said && [...asked, ...said];
}

export function ConversationView({
	turns,
	input,
	output,
}: {
	turns: readonly Turn[];
	input: unknown;
	output: unknown;
}): ReactNode {
	const [view, setView] = useState<(typeof VIEWS)[number]>("chat");
	return (
		<section className="card">
			<h2>{T.job.conversation}</h2>
			<div className="stack">
				<ToggleButtonGroup
					className="segments"
					aria-label={T.views.of(T.job.conversation)}
					selectionMode="single"
					disallowEmptySelection
					selectedKeys={[view]}
					onSelectionChange={([key]) => setView(key as typeof view)}
				>
					{VIEWS.map((each) => (
						<ToggleButton key={each} id={each} className="segment">
							{NAMES[each]}
						</ToggleButton>
					))}
				</ToggleButtonGroup>
				{view === "chat" ? (
					<Chat turns={turns} label={T.job.conversation} />
				) : (
					<JsonView value={view === "input" ? input : output} label={NAMES[view]} />
				)}
			</div>
		</section>
	);
}
