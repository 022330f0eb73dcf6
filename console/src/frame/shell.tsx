/** What stands around every page: where one is, where one may go, who one is. */
import { type ReactNode, useCallback, useState } from "react";
import type { CommandDialog } from "./commands.ts";
import { useFeed } from "../client/feed.ts";
import { count } from "../text/format.ts";
import { GLOBAL_PAGES } from "../parts/page-list.ts";
import { to, usePlace } from "../client/router.ts";
import { useMay, useSession } from "../client/session.ts";
import { useShortcuts } from "./shortcuts.ts";
import { T } from "../text/text.ts";
import { setTheme, type Theme, useTheme } from "../parts/theme.ts";
import { IconButton } from "../parts/button.tsx";
import { Icon, type IconName, Mark } from "../parts/icons.tsx";
import { Palette, usePaletteKeys } from "./palette.tsx";
import { Toasts } from "../parts/toast.tsx";

const THEMES: readonly { theme: Theme; icon: IconName }[] = [
	{ theme: "system", icon: "screen" },
	{ theme: "light", icon: "sun" },
	{ theme: "dark", icon: "moon" },
];

export function Shell({
	children,
	dialogOf,
}: {
	children: ReactNode;
	/** What a command of the palette opens. */
	dialogOf: (dialog: CommandDialog, close: () => void) => ReactNode;
}): ReactNode {
	const [searching, setSearching] = useState(false);
	const [dialog, setDialog] = useState<CommandDialog | undefined>(undefined);
	const { path } = usePlace();
	const openSearch = useCallback(() => setSearching(true), []);
	usePaletteKeys(openSearch);
	useShortcuts(useCallback(() => setDialog({ kind: "keys" }), []));
	// The menu closes when the page changes.
	const where = path.join("/");
	const [menuAt, setMenuAt] = useState<string | undefined>(undefined);
	const menu = menuAt === where;
	return (
		<div className="shell" data-menu={menu}>
			<a
				className="skip"
				href="#main"
				onClick={(event) => {
					event.preventDefault();
					document.querySelector("main")?.focus();
				}}
			>
				{T.skip}
			</a>
			<header className="top">
				<a className="brand" href={to(["overview"])} aria-label={T.product}>
					<Mark /> <span>{T.product}</span>
				</a>
				<button type="button" className="jump" onClick={openSearch}>
					<Icon name="search" /> <span>{T.palette.open}</span> <kbd>/</kbd>
				</button>
				<div className="menu-switch">
					<IconButton
						name={menu ? T.menu.close : T.menu.open}
						icon={menu ? "close" : "menu"}
						pressed={menu}
						onPress={() => setMenuAt(menu ? undefined : where)}
					/>
				</div>
			</header>
			<Side path={path} />
			<main id="main" tabIndex={-1}>
				{children}
			</main>
			{searching ? <Palette close={() => setSearching(false)} open={setDialog} /> : null}
			{dialog === undefined ? null : dialogOf(dialog, () => setDialog(undefined))}
			<Toasts />
		</div>
	);
}

function Side({ path }: { path: readonly string[] }): ReactNode {
	const { endpoints, live } = useFeed();
	const admin = useMay("admin");
	const [first = "overview", id] = path;
	const pages = GLOBAL_PAGES.filter((page) => !("admin" in page) || admin);
	return (
		<div className="side">
			<nav aria-label={T.menu.pages}>
				<ul>
					{pages.map(({ path: page, name, icon }) => (
						<li key={page}>
							<a href={to([page])} aria-current={first === page ? "page" : undefined}>
								<Icon name={icon} /> {name}
							</a>
						</li>
					))}
				</ul>
				<h2>{T.pages.endpoints}</h2>
				<ul className="side-endpoints">
					{endpoints?.map((endpoint) => (
						<li key={endpoint.id}>
							<a
								href={to(["endpoints", endpoint.id])}
								aria-current={first === "endpoints" && id === endpoint.id ? "true" : undefined}
								title={endpoint.id}
							>
								<span className="side-name">{endpoint.name}</span>
								{endpoint.paused ? (
									<span className="side-count">{T.paused}</span>
								) : endpoint.queue.inQueue > 0 ? (
									<span className="side-count" title={T.waiting}>
										{count(endpoint.queue.inQueue)}
									</span>
								) : null}
							</a>
						</li>
					))}
				</ul>
			</nav>
			<Foot live={live} />
		</div>
	);
}

function Foot({ live }: { live: boolean }): ReactNode {
	const { principal, signOut } = useSession();
	const theme = useTheme();
	return (
		<footer className="side-foot">
			<p className="side-live">
				<i className={live ? "lamp on" : "lamp"} /> {live ? T.live : T.notLive}
			</p>
			<p>
				<a href="../docs/">{T.documentation}</a>
			</p>
			<div className="themes" role="group" aria-label={T.theme.title}>
				{THEMES.map(({ theme: each, icon }) => (
					<IconButton
						key={each}
						name={T.theme[each]}
						icon={icon}
						pressed={theme === each}
						onPress={() => setTheme(each)}
					/>
				))}
			</div>
			<p className="who">
				<span title={principal.scopes.join(", ")}>
					<small>{T.signedInWith}</small>
					{principal.name}
				</span>
				<IconButton name={T.signOut} icon="out" onPress={signOut} />
			</p>
		</footer>
	);
}
