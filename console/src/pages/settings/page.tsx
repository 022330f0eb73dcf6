/**
 * Settings of an endpoint: forms made of the service's own schema, so that names, bounds and
 * defaults are those of the API.
 */
import type { ReactNode } from "react";
import { ask } from "../../client/api.ts";
import { useLoad } from "../../client/load.ts";
import { Loading, Refusal } from "../../parts/notice.tsx";
import { useMay } from "../../client/session.ts";
import { settingsIn } from "./settings-form.ts";
import type { Endpoint } from "../../client/shapes.ts";
import { T } from "../../text/text.ts";
import { Copies } from "./copies.tsx";
import { Delete, Secret } from "./danger.tsx";
import { EnvForm } from "./env-form.tsx";
import { SettingsForm } from "./form.tsx";
import { GROUPS } from "./groups.ts";
import { Sections } from "./sections.tsx";

const FORM = [...GROUPS.map(({ title }) => title), T.settings.groups.launcher, T.settings.groups.limits];
const ADMIN = [T.env.title, T.settings.copies.title, T.settings.secret, T.settings.delete];

export function SettingsPage({
	endpoint,
	reload,
	show,
}: {
	endpoint: Endpoint;
	reload: () => void;
	show: (endpoint: Endpoint) => void;
}): ReactNode {
	const admin = useMay("admin");
	const { data: settings, failure } = useLoad("openapi", async (signal) =>
		settingsIn(await ask("openapi.json", { signal })),
	);
	if (failure && !settings) return <Refusal failure={failure} />;
	if (!settings) return <Loading />;
	return (
		<div className="with-sections">
			<Sections titles={admin ? [...FORM, ...ADMIN] : FORM} />
			<div className="settings">
				{admin ? null : <p className="reason">{T.settings.readOnly}</p>}
				<SettingsForm endpoint={endpoint} settings={settings} show={show} admin={admin}>
					{admin ? <EnvForm endpoint={endpoint} reload={reload} /> : null}
					<Copies endpoint={endpoint} settings={settings} admin={admin} />
					{admin ? <Secret endpoint={endpoint} reload={reload} /> : null}
					{admin ? <Delete endpoint={endpoint} /> : null}
				</SettingsForm>
			</div>
		</div>
	);
}
