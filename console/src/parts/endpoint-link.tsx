/** An endpoint by its name, with its id as title, that leads to it. */
import type { ReactNode } from "react";
import { useOverview } from "../client/feed.ts";
import { to } from "../client/router.ts";

export function EndpointLink({ id, page = [] }: { id: string; page?: readonly string[] }): ReactNode {
	const name = useOverview(id)?.name ?? id;
	return (
		<a href={to(["endpoints", id, ...page])} title={id}>
			{name}
		</a>
	);
}
