/**
 * Which page stands in the shell. Pages that few first looks need are loaded when they are wanted.
 */
import { type ReactNode, Suspense, useEffect } from "react";
import { lazyPage } from "../parts/lazy-page.ts";
import { Boundary } from "../parts/boundary.tsx";
import { Loading } from "../parts/notice.tsx";
import { Shell } from "./shell.tsx";
import { OverviewPage } from "../pages/overview/overview.tsx";
import { to, usePlace } from "../client/router.ts";
import { T } from "../text/text.ts";

const EndpointPage = lazyPage(() => import("../pages/endpoint/endpoint.tsx"));
const AllWorkersPage = lazyPage(() =>
	import("../pages/workers/workers.tsx").then(({ AllWorkersPage: page }) => ({ default: page })),
);
const WebhooksPage = lazyPage(() => import("../modules/webhooks/webhooks.tsx"));
const HostsPage = lazyPage(() => import("../modules/docker/hosts.tsx"));
const LogsPage = lazyPage(() => import("../modules/logs/logs.tsx"));
const ServerPage = lazyPage(() => import("../pages/server/server.tsx"));
const KeysPage = lazyPage(() => import("../pages/access/keys.tsx"));
const AuditPage = lazyPage(() => import("../modules/audit/audit.tsx"));
const CommandDialogView = lazyPage(() => import("./command-dialog.tsx"));

export function App(): ReactNode {
	const { path } = usePlace();
	const [first = "overview", id, ...rest] = path;
	useEffect(() => {
		document.title = [id, T.product].filter(Boolean).join(" · ");
	}, [id]);
	return (
		<Shell
			dialogOf={(dialog, close) => (
				<Suspense>
					<CommandDialogView dialog={dialog} close={close} />
				</Suspense>
			)}
		>
			<Boundary key={`${first}/${id}`}>
				<Suspense fallback={<Loading />}>{pageOf(first, id, rest)}</Suspense>
			</Boundary>
		</Shell>
	);
}

function pageOf(first: string, id: string | undefined, rest: readonly string[]): ReactNode {
	if (first === "overview") return <OverviewPage />;
	if (first === "endpoints" && id !== undefined) return <EndpointPage key={id} id={id} path={rest} />;
	if (first === "workers") return <AllWorkersPage />;
	if (first === "webhooks") return <WebhooksPage />;
	if (first === "hosts") return <HostsPage />;
	if (first === "logs") return <LogsPage />;
	if (first === "server") return <ServerPage />;
	if (first === "keys") return <KeysPage />;
	if (first === "audit") return <AuditPage />;
	return (
		<>
			<header className="page-head">
				<h1>{T.noPage}</h1>
			</header>
			<p>
				<a href={to(["overview"])}>{T.pages.overview}</a>
			</p>
		</>
	);
}
