package fleet

// A ReleaseWay lets what waits for its turn go on, or goes on without it.
type ReleaseWay string

// The releases.
const (
	// ReleaseNow lets a cluster go out of turn, whatever stages, windows and freezes say. A stage
	// still changes as many clusters at a time as else.
	ReleaseNow ReleaseWay = "now"
	// ReleaseSkip ends all waiting for a cluster, or for those of a stage. Nothing of them
	// begins until a new request or definition.
	ReleaseSkip ReleaseWay = "skip"
	// ReleaseApprove is the word of a person that what waits in a stage may come.
	ReleaseApprove ReleaseWay = "approve"
)

// ReleaseWays returns all ways.
func ReleaseWays() []ReleaseWay { return []ReleaseWay{ReleaseNow, ReleaseSkip, ReleaseApprove} }

// ReleaseAnnotation with the value "now" or "skip" on a Cluster is such a request.
const ReleaseAnnotation = "fairlead.dev/release"

// A WaveRelease is what people said of what is wanted of a cluster. It counts for that alone.
type WaveRelease struct {
	Way   ReleaseWay // empty: there is no request
	Of    string     // the RolloutDigest of what is wanted
	Stage bool       // it was said of its stage
}
