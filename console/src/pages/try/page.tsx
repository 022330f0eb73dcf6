/**
 * Trying an endpoint: a job as JSON, a chat for workers that speak OpenAI's API, a form for those that
 * make pictures, or the form of a preset; also with a second endpoint next to it.
 */
import { type ReactNode, useState } from "react";
import { Tab, TabList, TabPanel, Tabs } from "react-aria-components";
import { useFeed } from "../../client/feed.ts";
import { useLoad } from "../../client/load.ts";
import { recall, remember } from "../../client/memory.ts";
import { Select } from "../../parts/field.tsx";
import { Empty, Loading } from "../../parts/notice.tsx";
import { isPictureInput } from "./picture-form.ts";
import { type RecentInput, recentInput } from "./recent-input.ts";
import { type ProposedForm, type ProposedInput, proposedInput } from "./proposed-input.ts";
import { usePlace } from "../../client/router.ts";
import { useMay } from "../../client/session.ts";
import { T } from "../../text/text.ts";
import { ChatForm } from "./chat-form.tsx";
import { JobForm } from "./job-form.tsx";
import { PictureForm } from "./picture-form.tsx";
import { PresetJobForm } from "./preset-job-form.tsx";

const MODES = ["form", "job", "chat", "picture"] as const;
type Mode = (typeof MODES)[number];

/** No second endpoint: an id has no dot. */
const NONE = ".";

/** `served`: its workers are HTTP servers, whose preset proposes the first job and may have a form. */
export function TryPage({ id, served }: { id: string; served: boolean }): ReactNode {
	const write = useMay("write");
	const { data } = useLoad(`recent ${id}`, async (signal) => {
		const nothing: ProposedInput = { first: {} };
		const [recent, { first, form }] = await Promise.all([
			recentInput(id, signal),
			served ? proposedInput(id, signal) : nothing,
		]);
		return { recent: recent.example === undefined ? { ...recent, ...first } : recent, form };
	});
	const { query } = usePlace();
	const mode = query.has("like") ? "job" : query.get("mode");
	if (!write) return <Empty title={T.try.mayNot} />;
	return data ? <Playground key={mode} id={id} asked={mode} {...data} /> : <Loading />;
}

function Playground({
	id,
	asked,
	recent,
	form,
}: {
	id: string;
	/** Named by the address. */
	asked: string | null;
	recent: RecentInput;
	/** Of the endpoint's preset. */
	form: ProposedForm | undefined;
}): ReactNode {
	const { example } = recent;
	const memory = `try.${id}`;
	const modes = MODES.filter((each) => each !== "form" || form);
	const [mode, setMode] = useState<Mode>(
		() => modes.find((each) => each === (asked ?? recall(memory))) ?? (form ? "form" : modeOf(recent)),
	);
	const [other, setOther] = useState(NONE);
	const others = (useFeed().endpoints ?? []).filter((each) => each.id !== id);
	const endpoints: [string, ...string[]] = other === NONE ? [id] : [id, other];
	const choose = (next: Mode): void => {
		setMode(next);
		remember(memory, next);
	};
	return (
		<Tabs className="stack modes" selectedKey={mode} onSelectionChange={(key) => choose(key as Mode)}>
			<div className="bar">
				<TabList className="segments" aria-label={T.playground.modes}>
					{modes.map((each) => (
						<Tab key={each} id={each} className="segment">
							{T.playground.mode[each]}
						</Tab>
					))}
				</TabList>
				{others.length === 0 ? null : (
					<div className="compare">
						<Select
							label={T.playground.compare}
							value={other}
							onChange={setOther}
							choices={[
								{ id: NONE, name: T.playground.nothing },
								...others.map((each) => ({ id: each.id, name: each.name })),
							]}
						/>
					</div>
				)}
			</div>
			{form ? (
				<TabPanel id="form">
					<PresetJobForm endpoints={endpoints} proposed={form} />
				</TabPanel>
			) : null}
			<TabPanel id="job">
				<JobForm endpoints={endpoints} example={example} />
			</TabPanel>
			<TabPanel id="chat">
				<ChatForm key={other} endpoints={endpoints} usual={recent.model ?? ""} />
			</TabPanel>
			<TabPanel id="picture">
				<PictureForm
					endpoints={endpoints}
					example={example}
					promptless={recent.promptless}
					toJob={() => choose("job")}
				/>
			</TabPanel>
		</Tabs>
	);
}

/** A chat where one of the newest jobs was one, else what the input of the newest belongs to. */
function modeOf({ example, chat }: RecentInput): Mode {
	if (chat) return "chat";
	return isPictureInput(example) ? "picture" : "job";
}
