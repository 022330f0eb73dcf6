/** Code in several languages, of which one is shown; the browser remembers which. */
import { type ReactNode, useState } from "react";
import { Tab, TabList, TabPanel, Tabs } from "react-aria-components";
import { recall, remember } from "../../client/memory.ts";
import { CodeBlock } from "../copy.tsx";

export interface CodeTab {
	id: string;
	name: string;
	/** A sentence above the code. */
	about?: string;
	text: string;
}

export function CodeTabs({
	name,
	memory,
	tabs,
}: {
	name: string;
	/** The name under which the choice is remembered. */
	memory: string;
	tabs: readonly CodeTab[];
}): ReactNode {
	const [chosen, setChosen] = useState(() => tabs.find(({ id }) => id === recall(memory))?.id ?? tabs[0]!.id);
	return (
		<Tabs
			selectedKey={chosen}
			onSelectionChange={(key) => {
				setChosen(String(key));
				remember(memory, key);
			}}
		>
			<TabList className="segments" aria-label={name}>
				{tabs.map((tab) => (
					<Tab key={tab.id} id={tab.id} className="segment">
						{tab.name}
					</Tab>
				))}
			</TabList>
			{tabs.map((tab) => (
				<TabPanel key={tab.id} id={tab.id} className="stack panel">
					{tab.about === undefined ? null : <p className="hint">{tab.about}</p>}
					<CodeBlock text={tab.text} name={tab.name} coloured />
				</TabPanel>
			))}
		</Tabs>
	);
}
