/** Calls a running service for commands: address from `SLUICE_URL`, key from `SLUICE_API_KEY` (D36). */
import { CliError } from "./command.ts";

const DEFAULT_URL = "http://127.0.0.1:8080";

/** A caller of the service. `post` answers the JSON of a success and throws {@link CliError} with the service's own sentence. */
export function callService(env: Readonly<Record<string, string | undefined>>): { base: string; post: (path: string) => Promise<unknown> } {
  const base = (env["SLUICE_URL"] ?? DEFAULT_URL).replace(/\/+$/, "");
  const key = env["SLUICE_API_KEY"];
  return {
    base,
    async post(path) {
      if (key === undefined) throw new CliError("Set SLUICE_API_KEY to an API key of the service.");
      let response: Response;
      try {
        response = await fetch(base + path, { method: "POST", headers: { authorization: `Bearer ${key}` } });
      } catch (error) {
        const { cause } = error as Error;
        throw new CliError(`No service answers at ${base} (${cause instanceof Error ? cause.message : String(error)}). Start it with 'sluice serve', or set SLUICE_URL.`, 1);
      }
      const body = (await response.json().catch(() => undefined)) as { error?: string } | undefined;
      if (body === undefined) throw new CliError(`What answers at ${base} is not Sluice (HTTP ${response.status}). Set SLUICE_URL to the address of the service.`, 1);
      if (!response.ok) throw new CliError(body.error ?? `The service answered ${response.status}.`, 1);
      return body;
    },
  };
}
