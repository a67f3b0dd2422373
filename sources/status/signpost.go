package status

import (
	"context"
	"fmt"
	"io/fs"
	"strings"

	"fairlead.dev/fleet"
	"fairlead.dev/sources"
)

// signpostsFolder is the folder of the default status branch with a file for each fleet whose
// status is on another branch. An agent that cannot read the name of its branch in fleet.yaml, or
// reads a new one there, finds its status by it.
const signpostsFolder = "signposts"

// Signpost says on branch b that the status of fleet id is on the branch called name.
func Signpost(ctx context.Context, b sources.Branch, id fleet.ID, name string) error {
	return post(ctx, b, id, name, func(string) error { return nil })
}

// Post is Signpost for a fleet without an owner. The error is of kind Conflict if the signpost leads neither to the
// branch was, which is empty for no signpost, nor to name.
func Post(ctx context.Context, b sources.Branch, id fleet.ID, was, name string) error {
	return post(ctx, b, id, name, func(now string) error {
		if now != was && now != name {
			return fleet.Errorf(fleet.Conflict, "write a signpost for fleet "+string(id), "it leads to branch %q meanwhile", now)
		}
		return nil
	})
}

// post writes the signpost, if may permits that where the present one leads.
func post(ctx context.Context, b sources.Branch, id fleet.ID, name string, may func(now string) error) error {
	return commit(ctx, b, "write a signpost for fleet "+string(id), func(t fs.FS, _ bool) (sources.Commit, error) {
		now := readSignposts(t)[id]
		if err := may(now); err != nil || now == name {
			return sources.Commit{}, err
		}
		p := signpostsFolder + "/" + string(id) + ".yaml"
		content, err := signpostKind.encode(p, movedFile{typeMeta: signpostKind.meta(), Branch: name})
		return sources.Commit{Edits: map[string][]byte{p: content}, Message: fmt.Sprintf("fleet %s: the status is on %s", id, name)}, err
	})
}

// readSignposts returns the branches that signposts of t name. A damaged one counts for nothing: the
// agent that runs writes it again when it starts.
func readSignposts(t fs.FS) map[fleet.ID]string {
	entries, _ := fs.ReadDir(t, signpostsFolder)
	posts := make(map[fleet.ID]string, len(entries))
	for _, e := range entries {
		id, ok := strings.CutSuffix(e.Name(), ".yaml")
		b, err := fs.ReadFile(t, signpostsFolder+"/"+e.Name())
		var f movedFile
		if ok && err == nil && signpostKind.decode(b, &f) == nil && f.Branch != "" {
			posts[fleet.ID(id)] = f.Branch
		}
	}
	return posts
}
