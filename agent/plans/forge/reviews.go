package forge

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"time"

	"fairlead.dev/fleet"
)

// A Review is the last word of one person on a pull request.
type Review struct {
	Author string // as Comment.Author has it
	// Commit is what was the head then, in hex. Empty: the forge does not tell.
	Commit   string
	Approves bool // false: they ask for changes
}

func sortedReviews(list []Review) []Review {
	slices.SortFunc(list, func(a, b Review) int { return cmp.Compare(a.Author, b.Author) })
	return list
}

// A githubReview is a review of a githubLike. GitHub and Gitea name a refusal and a dismissal differently.
type githubReview struct {
	ID        int64  `json:"id"`
	State     string `json:"state"`
	Commit    string `json:"commit_id"`
	Dismissed bool   `json:"dismissed"`
	User      *struct {
		Login string `json:"login"`
	} `json:"user"` // null where the account is gone
}

// Reviews implements Forge. Of one author the newest counts, and one that was dismissed
// brings none before it back.
func (h *githubLike) Reviews(ctx context.Context, p PullRequest) ([]Review, error) {
	var all []githubReview
	err := pages("reviews", func(page int) (bool, error) {
		var list []githubReview
		header, err := h.call(ctx, http.MethodGet, fmt.Sprintf("%s/pulls/%d/reviews?%s&page=%d", h.repo, p.Number, h.size, page), nil, &list)
		all = append(all, list...)
		return len(list) > 0 && linksNext(header), err
	})
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(all, func(a, b githubReview) int { return cmp.Compare(a.ID, b.ID) })
	last := make(map[string]*Review)
	for _, r := range all {
		if r.User == nil {
			continue
		}
		switch r.State {
		case "APPROVED", "CHANGES_REQUESTED", "REQUEST_CHANGES":
			last[r.User.Login] = &Review{Author: r.User.Login, Commit: r.Commit, Approves: r.State == "APPROVED"}
			if r.Dismissed {
				last[r.User.Login] = nil
			}
		case "DISMISSED":
			last[r.User.Login] = nil
		}
	}
	var out []Review
	for _, r := range last {
		if r != nil {
			out = append(out, *r)
		}
	}
	return sortedReviews(out), nil
}

// mostCommits is how many commits of a pull request GitHub lists: the newest are left out.
const mostCommits = 250

// Authors implements Forge.
func (h *githubLike) Authors(ctx context.Context, p PullRequest) ([]string, error) {
	type account struct {
		Login string `json:"login"`
	}
	accounts, commits := map[string]bool{}, 0
	err := pages("commits", func(page int) (bool, error) {
		var list []struct{ Author, Committer *account } // null where no account has the address
		header, err := h.call(ctx, http.MethodGet, fmt.Sprintf("%s/pulls/%d/commits?%s&page=%d", h.repo, p.Number, h.size, page), nil, &list)
		for _, c := range list {
			for _, a := range []*account{c.Author, c.Committer} {
				if a != nil && a.Login != "" {
					accounts[a.Login] = true
				}
			}
		}
		commits += len(list)
		return len(list) > 0 && linksNext(header), err
	})
	if err == nil && !h.whole && commits >= mostCommits {
		err = fleet.Errorf(fleet.Invalid, "list who wrote pull request "+strconv.Itoa(p.Number), "GitHub lists at most %d of its commits: approve with fairlead release", mostCommits)
	}
	return slices.Sorted(maps.Keys(accounts)), err
}

// A moment is when a pull request came to have a head.
type moment struct {
	head string
	at   time.Time
}

// headAt returns the head that there was at a time; empty: it is not known. What came to be at the
// same time was not reviewed.
func headAt(moments []moment, at time.Time) string {
	var newest moment
	for _, m := range moments {
		if m.at.Before(at) && !m.at.Before(newest.at) {
			newest = m
		}
	}
	return newest.head
}

type labUser struct {
	User struct {
		Username string `json:"username"`
	} `json:"user"`
	State string     `json:"state"`       // of a reviewer
	At    *time.Time `json:"approved_at"` // of an approval; older versions do not tell
}

// Reviews implements Forge. GitLab tells when somebody approved, and when which head came.
func (l *gitlab) Reviews(ctx context.Context, p PullRequest) ([]Review, error) {
	path := fmt.Sprintf("%s/merge_requests/%d", l.project, p.Number)
	var approved struct {
		By []labUser `json:"approved_by"`
	}
	var asked []labUser
	var moments []moment
	_, err := l.call(ctx, http.MethodGet, path+"/approvals", nil, &approved)
	if err == nil {
		_, err = l.call(ctx, http.MethodGet, path+"/reviewers?per_page=100", nil, &asked)
	}
	if err != nil {
		return nil, err
	}
	err = pages("versions", func(page int) (bool, error) {
		var list []struct {
			Head string    `json:"head_commit_sha"`
			At   time.Time `json:"created_at"`
		}
		header, err := l.call(ctx, http.MethodGet, fmt.Sprintf("%s/versions?per_page=100&page=%d", path, page), nil, &list)
		for _, v := range list {
			moments = append(moments, moment{v.Head, v.At})
		}
		return len(list) > 0 && header.Get("X-Next-Page") != "", err
	})
	var out []Review
	for _, a := range approved.By {
		r := Review{Author: a.User.Username, Approves: true}
		if a.At != nil {
			r.Commit = headAt(moments, *a.At)
		}
		out = append(out, r)
	}
	for _, a := range asked {
		if a.State == "requested_changes" {
			out = slices.DeleteFunc(out, func(r Review) bool { return r.Author == a.User.Username })
			out = append(out, Review{Author: a.User.Username})
		}
	}
	return sortedReviews(out), err
}

// Authors implements Forge. GitLab names no accounts of commits; a project can refuse approvals by
// users who added commits.
func (*gitlab) Authors(context.Context, PullRequest) ([]string, error) { return nil, nil }
