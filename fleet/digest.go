package fleet

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
)

// DigestOf identifies vs. Zero fields of structs leave no trace, so that a field
// which a type gains later changes no digest.
func DigestOf(vs ...any) string {
	h := sha256.New()
	for _, v := range vs {
		data, err := json.Marshal(v)
		if err != nil {
			data = []byte(err.Error()) // the types of Cluster API and strings always can
		}
		h.Write(append(data, '\n'))
	}
	return hex.EncodeToString(h.Sum(nil)[:10])
}
