package status

import (
	"time"

	"fairlead.dev/fleet"
)

func encodeRetries(list []fleet.PoolRetry) []retry {
	var out []retry
	for _, r := range list {
		out = append(out, retry{string(r.Pool), string(r.Template), r.Tries, r.Last.UTC().Format(time.RFC3339)})
	}
	return out
}

// decodeRetries is the inverse of encodeRetries. It leaves out what no agent can have written:
// the pool tries again at once then.
func decodeRetries(list []retry) []fleet.PoolRetry {
	var out []fleet.PoolRetry
	for _, r := range list {
		last, err := time.Parse(time.RFC3339, r.Last)
		if err != nil || r.Tries < 1 {
			continue
		}
		out = append(out, fleet.PoolRetry{Pool: fleet.PoolName(r.Pool), Template: fleet.TemplateHash(r.Template), Tries: r.Tries, Last: last.UTC()})
	}
	return out
}
