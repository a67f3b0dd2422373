package status

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/sources"
)

// Approvals are what people say of pull requests on a status branch:
//
//	approvals/<number>-<kind>.yaml
//
// The right to push there is the right to approve.
type Approvals struct {
	branch sources.Branch
	// Sign, if not nil, returns the signature, in armour, of what Approve writes.
	Sign func(content []byte) (string, error)
	// Verify, if not nil, has List say of each why it counts for nothing.
	Verify Verify
	// People, if not nil, has List say of each why it counts for nothing if the person in whose name it is
	// did not sign it.
	People People
}

// NewApprovals returns those on branch.
func NewApprovals(branch sources.Branch) *Approvals { return &Approvals{branch: branch} }

const approvalsDir = "approvals"

// approvalFile is a fleet.Approval.
type approvalFile struct {
	typeMeta
	PullRequest int       `json:"pullRequest"`
	Approve     string    `json:"approve"`
	Head        string    `json:"head"`
	Reason      string    `json:"reason,omitempty"`
	By          string    `json:"by"`
	At          time.Time `json:"at"`
	Signature   string    `json:"signature,omitempty"` // of all but itself
}

func approvalPath(a fleet.Approval) string {
	return path.Join(approvalsDir, strconv.Itoa(a.PullRequest)+"-"+string(a.Kind)+".yaml")
}

// List returns all, sorted. Where single files cannot be read, the error names them and is
// of kind Invalid, and the list has all the others.
func (q *Approvals) List(ctx context.Context) ([]fleet.Approval, error) {
	_, t, err := q.branch.Read(ctx)
	if err != nil {
		return nil, err
	}
	list, err := readFolder(t, approvalsDir, readApproval, func(a, b fleet.Approval) int {
		return cmp.Or(cmp.Compare(a.PullRequest, b.PullRequest), cmp.Compare(a.Kind, b.Kind))
	})
	for i := range list {
		if q.Verify == nil {
			break
		}
		content, bad := approvalContent(list[i])
		var signer string
		if bad == nil {
			signer, bad = q.Verify(content, list[i].Signature)
		}
		if bad == nil {
			_, bad = q.People.of(list[i].By, signer, list[i].Signature, true)
		}
		if bad != nil && fleet.KindOf(bad) != fleet.Unknown {
			return nil, bad
		}
		if bad != nil {
			list[i].Distrusted = bad.Error()
		}
	}
	return list, err
}

// Approve writes a, in place of what was approved of the pull request before.
func (q *Approvals) Approve(ctx context.Context, a fleet.Approval) error {
	op := fmt.Sprintf("approve the %s of pull request %d", a.Kind, a.PullRequest)
	if err := checkApproval(a); err != nil {
		return fleet.Errorf(fleet.Invalid, op, "%w", err)
	}
	a.Reason, a.By = fleet.PlainLines(a.Reason), fleet.PlainLines(a.By) // as the file has them: see plain
	if q.Sign != nil {
		content, err := approvalContent(a)
		if err == nil {
			a.Signature, err = q.Sign(content)
		}
		if err != nil {
			return fleet.Errorf(fleet.Invalid, op, "cannot sign it: %w", err)
		}
	}
	b, err := approvalKind.encode(op, approvalFileOf(a))
	if err != nil {
		return err
	}
	return commitHere(ctx, q.branch, op, func(fs.FS, bool) (sources.Commit, error) {
		text := fmt.Sprintf("%s at %.12s", op, a.Head)
		if a.Reason != "" {
			text += "\n\n" + a.Reason
		}
		return sources.Commit{Edits: map[string][]byte{approvalPath(a): b}, Message: text}, nil
	})
}

func readApproval(t fs.FS, p string) (fleet.Approval, error) {
	b, err := fs.ReadFile(t, p)
	if err != nil {
		return fleet.Approval{}, err
	}
	var f approvalFile
	if err := approvalKind.decode(b, &f); err != nil {
		return fleet.Approval{}, err
	}
	a := fleet.Approval{
		PullRequest: f.PullRequest, Kind: fleet.ApprovalKind(f.Approve), Head: f.Head, Reason: f.Reason, By: f.By, At: f.At, Signature: f.Signature,
	}
	if err := checkApproval(a); err != nil {
		return fleet.Approval{}, err
	}
	if want := approvalPath(a); want != p {
		return fleet.Approval{}, fmt.Errorf("this approval is called %s", want)
	}
	return a, nil
}

func checkApproval(a fleet.Approval) error {
	switch {
	case a.PullRequest < 1:
		return fmt.Errorf("%d is the number of no pull request", a.PullRequest)
	case a.Kind != fleet.ApprovePlan && a.Kind != fleet.ApproveChanges:
		return fmt.Errorf("%q cannot be approved: %s and %s can", a.Kind, fleet.ApprovePlan, fleet.ApproveChanges)
	case !isCommit(a.Head):
		return fmt.Errorf("%q is no commit: give the whole hash of the head", a.Head)
	case a.By == "" || a.At.IsZero():
		return fmt.Errorf("it needs by and at: who approves, and when")
	}
	return nil
}

func isCommit(s string) bool {
	for _, r := range s {
		if (r < '0' || r > '9') && (r < 'a' || r > 'f') {
			return false
		}
	}
	return len(s) == 40 || len(s) == 64
}

func approvalFileOf(a fleet.Approval) approvalFile {
	return approvalFile{
		typeMeta: approvalKind.meta(), PullRequest: a.PullRequest, Approve: string(a.Kind), Head: a.Head,
		Reason: a.Reason, By: a.By, At: a.At.UTC(), Signature: a.Signature,
	}
}

// approvalContent returns what is signed. It begins differently from all else that is.
func approvalContent(a fleet.Approval) ([]byte, error) {
	a.Signature = ""
	b, err := json.Marshal(approvalFileOf(a))
	return append([]byte("fairlead-approval\n"), b...), err
}
