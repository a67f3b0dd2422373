package workload

import (
	"testing"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
)

// TestBookmarkIsNoChange: it says how far the stream is, once a minute.
func TestBookmarkIsNoChange(t *testing.T) {
	e := nodeEvent{Type: watch.Bookmark}
	e.Object.Metadata.ResourceVersion = "7"
	if e.changes(map[types.UID]uint64{}) {
		t.Error("a bookmark is told of as a change")
	}
}
