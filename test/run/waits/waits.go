// Package waits is for packages whose tests mostly wait: for a server in another process, for
// a lease to end, for the next look.
package waits

import (
	"flag"
	"testing"
	"time"
)

// Limit is how long a test waits for what must happen before it fails. It is far longer than
// anything takes here, so that it says something of Fairlead and nothing of the machine.
const Limit = 10 * time.Minute

// Main runs the tests of a package, eight parallel ones at a time unless -parallel says
// otherwise: on two cores Go runs two. It is called by TestMain.
func Main(m *testing.M) int {
	flag.Parse()
	said := false
	flag.Visit(func(f *flag.Flag) { said = said || f.Name == "test.parallel" })
	if !said {
		if err := flag.Set("test.parallel", "8"); err != nil {
			panic(err)
		}
	}
	return m.Run()
}
