/**
 * Which page stands in the shell. Pages that few first looks need are loaded when they are wanted.
 */
import { Suspense, lazy, useEffect } from "react";
import type { ReactNode } from "react";
import { Boundary } from "./parts/boundary.tsx";
import { Empty, Loading } from "./parts/notice.tsx";
import { Shell } from "./parts/shell.tsx";
import { OverviewPage } from "./pages/overview.tsx";
import { to, usePlace } from "./router.ts";
import { T } from "./text.ts";

const EndpointPage = lazy(() => import("./pages/endpoint.tsx"));
const AllWorkersPage = lazy(() =>
	import("./pages/workers.tsx").then(({ AllWorkersPage: page }) => ({ default: page })),
);
const WebhooksPage = lazy(() => import("./pages/webhooks.tsx"));
const HostsPage = lazy(() => import("./pages/hosts.tsx"));
const KeysPage = lazy(() => import("./pages/keys.tsx"));
const AuditPage = lazy(() => import("./pages/audit.tsx"));

export function App(): ReactNode {
	const { path } = usePlace();
	const [first = "overview", id, ...rest] = path;
	useEffect(() => {
		document.title = [id, T.product].filter(Boolean).join(" · ");
	}, [id]);
	return (
		<Shell>
			<Boundary key={`${first}/${id}`}>
				<Suspense fallback={<Loading />}>{pageOf(first, id, rest)}</Suspense>
			</Boundary>
		</Shell>
	);
}

function pageOf(first: string, id: string | undefined, rest: readonly string[]): ReactNode {
	if (first === "overview") return <OverviewPage />;
	if (first === "endpoints" && id !== undefined)
		return <EndpointPage key={id} id={id} path={rest} />;
	if (first === "workers") return <AllWorkersPage />;
	if (first === "webhooks") return <WebhooksPage />;
	if (first === "hosts") return <HostsPage />;
	if (first === "keys") return <KeysPage />;
	if (first === "audit") return <AuditPage />;
	return (
		<>
			<h1 className="hidden">{T.noPage}</h1>
			<Empty title={T.noPage}>
				<a href={to(["overview"])}>{T.pages.overview}</a>
			</Empty>
		</>
	);
}
