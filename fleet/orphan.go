package fleet

import "time"

// An Orphan is something on an infrastructure that a fleet made, or one of its
// clusters did, and that belongs to no cluster any more.
type Orphan struct {
	Provider string // infrastructure provider
	Place    string // project, region or data centre, as its people call it
	Cluster  Key    // that it was made for; zero where that is not known
	Kind     string // the provider's word: "server", "port", "floating IP", "load balancer", "volume"
	ID       string // unique in Place and Kind
	Name     string
	Reason   string    // why it is taken for an orphan, for people
	Created  time.Time // zero where the provider does not say
}
