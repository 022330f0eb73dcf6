/** The question before all waiting jobs of an endpoint are removed. */
import type { ReactNode } from "react";
import { ask } from "../../client/api.ts";
import { count, number } from "../../text/format.ts";
import { Confirm } from "../../parts/dialog.tsx";
import { toast } from "../../parts/toast.tsx";
import { T } from "../../text/text.ts";

export function PurgeQueue({
	id,
	name,
	waiting,
	close,
}: {
	id: string;
	name: string;
	/** Jobs that wait. */
	waiting: number;
	close: () => void;
}): ReactNode {
	const purge = async (): Promise<void> => {
		const { removed } = await ask<{ removed: number }>(`v2/${encodeURIComponent(id)}/purge-queue`, {
			method: "POST",
		});
		toast({ text: T.endpoint.purged(number(removed)) });
	};
	return (
		<Confirm title={T.endpoint.purgeTitle} act={T.endpoint.purge} danger doing={purge} close={close}>
			<p>{T.endpoint.purgeText(count(waiting), name)}</p>
		</Confirm>
	);
}
