/** The dialogs that commands of the palette open, over any page. */
import type { ReactNode } from "react";
import type { CommandDialog } from "./commands.ts";
import { useOverview } from "../client/feed.ts";
import { GLOBAL_PAGES } from "../parts/page-list.ts";
import { Dialog } from "../parts/dialog.tsx";
import { T } from "../text/text.ts";
import { NewEndpoint } from "../pages/endpoint/new-endpoint.tsx";
import { PurgeQueue } from "../pages/requests/purge-queue.tsx";

export default function CommandDialogView({ dialog, close }: { dialog: CommandDialog; close: () => void }): ReactNode {
	if (dialog.kind === "endpoint") return <NewEndpoint close={close} />;
	if (dialog.kind === "keys") return <Keys close={close} />;
	return <Purge endpoint={dialog.endpoint} close={close} />;
}

function Purge({ endpoint, close }: { endpoint: string; close: () => void }): ReactNode {
	const overview = useOverview(endpoint);
	if (!overview) return null;
	const { id, name, queue } = overview;
	return <PurgeQueue id={id} name={name} waiting={queue.inQueue} close={close} />;
}

/** The keys that every page has. */
function Keys({ close }: { close: () => void }): ReactNode {
	const keys: readonly (readonly [readonly string[], string])[] = [
		[["/"], T.palette.title],
		[["j", "k"], T.shortcuts.rows],
		...GLOBAL_PAGES.map(({ key, name }) => [["g", key], name] as const),
		[["?"], T.shortcuts.title],
	];
	return (
		<Dialog title={T.shortcuts.title} close={close}>
			<dl className="keys-list">
				{keys.map(([pressed, name]) => (
					<div key={name}>
						<dt>{name}</dt>
						<dd>
							{pressed.map((key) => (
								<kbd key={key}>{key}</kbd>
							))}
						</dd>
					</div>
				))}
			</dl>
		</Dialog>
	);
}
