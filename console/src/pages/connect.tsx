/** Calling an endpoint from one's own code: snippets that hold its address. */
import { useState } from "react";
import type { ReactNode } from "react";
import { Tab, TabList, TabPanel, Tabs } from "react-aria-components";
import { BASE } from "../api.ts";
import { recall, remember } from "../memory.ts";
import { CodeBlock } from "../parts/copy.tsx";
import { SNIPPETS } from "../snippets.ts";
import { T } from "../text.ts";

const KEY = "snippet";

export function ConnectPage({ id }: { id: string }): ReactNode {
	const [chosen, setChosen] = useState(
		() => SNIPPETS.find((snippet) => snippet.id === recall(KEY))?.id ?? SNIPPETS[0].id,
	);
	const base = BASE.replace(/\/$/, "");
	return (
		<section className="card connect">
			<Tabs
				selectedKey={chosen}
				onSelectionChange={(key) => {
					setChosen(key as typeof chosen);
					remember(KEY, key);
				}}
			>
				<TabList className="segments" aria-label={T.tabs.connect}>
					{SNIPPETS.map((snippet) => (
						<Tab key={snippet.id} id={snippet.id} className="segment">
							{snippet.name}
						</Tab>
					))}
				</TabList>
				{SNIPPETS.map((snippet) => (
					<TabPanel key={snippet.id} id={snippet.id} className="stack panel">
						<p className="hint">{snippet.about}</p>
						<CodeBlock text={snippet.text({ base, id })} name={snippet.name} />
					</TabPanel>
				))}
			</Tabs>
			<p className="hint">{T.connect.key}</p>
		</section>
	);
}
