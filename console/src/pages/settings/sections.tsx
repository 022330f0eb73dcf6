/** The sections of the settings as links that lead to each. */
import { type ReactNode, useEffect } from "react";
import { to, usePlace } from "../../router.ts";
import { T } from "../../text.ts";

export const sectionId = (title: string): string => `section-${title.toLowerCase().replaceAll(" ", "-")}`;

function show(section: string): void {
	document.querySelector(`#${CSS.escape(section)}`)?.scrollIntoView({ block: "start" });
}

export function Sections({ titles }: { titles: readonly string[] }): ReactNode {
	const { path, query } = usePlace();
	const chosen = query.get("section");
	useEffect(() => {
		if (chosen !== null) show(chosen);
	}, [chosen]);
	return (
		<nav className="sections" aria-label={T.settings.sections}>
			<ul>
				{titles.map((title) => {
					const section = sectionId(title);
					return (
						<li key={title}>
							<a
								href={to(path, { section })}
								aria-current={chosen === section ? "location" : undefined}
								onClick={() => show(section)}
							>
								{title}
							</a>
						</li>
					);
				})}
			</ul>
		</nav>
	);
}
