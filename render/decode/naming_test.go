package decode

import (
	"testing"

	"fairlead.dev/fleet"
)

// TestNamesKeepTheirSchema: names of machines do not change with the newest schema of hashes.
func TestNamesKeepTheirSchema(t *testing.T) {
	p := &fleet.Pool{Template: "9-ffffffffff", Former: []fleet.TemplateHash{"2-0123456789", "1-aaaaaaaaaa"}}
	if got := machineSetName("md", p); got != "md-01234" {
		t.Errorf("the name is %s, want md-01234", got)
	}
}
