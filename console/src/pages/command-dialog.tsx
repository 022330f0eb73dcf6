/** The dialogs that commands of the palette open, over any page. */
import type { ReactNode } from "react";
import type { CommandDialog } from "../commands.ts";
import { useOverview } from "../feed.ts";
import { NewEndpoint } from "./new-endpoint.tsx";
import { PurgeQueue } from "./purge-queue.tsx";

export default function CommandDialogView({ dialog, close }: { dialog: CommandDialog; close: () => void }): ReactNode {
	return dialog.kind === "endpoint" ? (
		<NewEndpoint close={close} />
	) : (
		<Purge endpoint={dialog.endpoint} close={close} />
	);
}

function Purge({ endpoint, close }: { endpoint: string; close: () => void }): ReactNode {
	const overview = useOverview(endpoint);
	if (!overview) return null;
	const { id, name, queue } = overview;
	return <PurgeQueue id={id} name={name} waiting={queue.inQueue} close={close} />;
}
