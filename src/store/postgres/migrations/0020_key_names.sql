-- Names of keys are text without control characters: they need no JSON.
UPDATE keys SET name = name::json #>> '{}';
