/** The sections of the settings as links that lead to each. */
import { type ReactNode, useEffect, useEffectEvent, useRef, useState } from "react";
import { to, usePlace } from "../../client/router.ts";
import { T } from "../../text/text.ts";

export const sectionId = (title: string): string => `section-${title.toLowerCase().replaceAll(" ", "-")}`;

const elementOf = (section: string): Element | null => document.querySelector(`#${CSS.escape(section)}`);

/** Px below the top of the window. */
const LINE = 96;

/**
 * The section in view: the last that begins above a line near the top of the window. Towards the end of the page the line
 * moves down to the end of the window, so that short sections have their turn.
 */
function inView(sections: readonly string[]): string | undefined {
	const left = document.documentElement.scrollHeight - innerHeight - scrollY;
	const line = LINE + (innerHeight - LINE) * Math.max(0, 1 - left / innerHeight);
	return sections.findLast((section) => (elementOf(section)?.getBoundingClientRect().top ?? Infinity) <= line);
}

export function Sections({ titles }: { titles: readonly string[] }): ReactNode {
	const { path, query } = usePlace();
	const chosen = query.get("section");
	const sections = titles.map(sectionId);
	/** The section in view after the page was scrolled, until another link is followed. */
	const [seen, setSeen] = useState<{ after: string | null; section: string | undefined } | undefined>(undefined);
	const current = (seen?.after === chosen ? seen.section : chosen) ?? sections[0];
	/** Where a link has led: there its own section is the current one, even if others are in view. */
	const led = useRef<number | undefined>(undefined);
	const show = (section: string): void => {
		elementOf(section)?.scrollIntoView({ block: "start" });
		led.current = scrollY;
	};
	const follow = useEffectEvent(() => {
		if (scrollY !== led.current) setSeen({ after: chosen, section: inView(sections) });
	});
	useEffect(() => {
		if (chosen !== null) show(chosen);
	}, [chosen]);
	useEffect(() => {
		const onScroll = (): void => follow();
		addEventListener("scroll", onScroll, { passive: true });
		return () => removeEventListener("scroll", onScroll);
	}, []);
	return (
		<nav className="sections" aria-label={T.settings.sections}>
			<ul>
				{titles.map((title, index) => (
					<li key={title}>
						<a
							href={to(path, { section: sections[index] })}
							aria-current={current === sections[index] ? "location" : undefined}
							onClick={() => {
								setSeen(undefined);
								show(sections[index]!);
							}}
						>
							{title}
						</a>
					</li>
				))}
			</ul>
		</nav>
	);
}
