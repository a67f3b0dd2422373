package notify

import (
	"context"
	"encoding/json"
	"fmt"
	"html"
	"net/http"
	"net/url"
	"strings"

	"fairlead.dev/fleet"
)

const jsonType = "application/json; charset=utf-8"

// A slack posts to an incoming webhook, or with the token of a bot to a channel.
// Source: Slack, "Sending messages using incoming webhooks", chat.postMessage.
type slack struct {
	client
	token   fleet.Secret
	channel string
}

// slackText takes from text what Slack has as markup and mentions.
func slackText(text string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", "*", "∗", "_", "_\u200b", "`", "'", "~", "∼").Replace(text)
}

// Send implements Sender.
func (s slack) Send(ctx context.Context, m Message) (int, error) {
	line := func(e fleet.Event) string {
		return "• *" + slackText(e.Subject()) + "* " + headline(e.Type) + ": " + slackText(detail(e))
	}
	text := "*" + slackText(m.Title()) + "*\n" + strings.Join(m.lines(line, slackText), "\n")
	body := map[string]any{"text": text, "mrkdwn": true, "unfurl_links": false}
	header := map[string]string{}
	if !s.token.IsZero() {
		body["channel"] = s.channel
		header["Authorization"] = "Bearer " + string(s.token.Reveal())
	}
	answer, err := s.send(ctx, http.MethodPost, "", jsonType, body, header)
	if err != nil {
		return 0, err
	}
	// A bot is refused with 200.
	var said struct {
		OK    *bool  `json:"ok"`
		Error string `json:"error"`
	}
	if json.Unmarshal(answer, &said) == nil && said.OK != nil && !*said.OK {
		return 0, &refusal{status: http.StatusOK, words: fleet.PlainText(said.Error)}
	}
	return len(m.Events), nil
}

// A teams posts an adaptive card to a workflow of Microsoft Teams.
// Source: Microsoft, "Create incoming webhooks with Workflows for Microsoft Teams".
type teams struct{ client }

// Send implements Sender.
func (t teams) Send(ctx context.Context, m Message) (int, error) {
	block := func(text string, more map[string]any) map[string]any {
		b := map[string]any{"type": "TextBlock", "text": text, "wrap": true}
		for k, v := range more {
			b[k] = v
		}
		return b
	}
	blocks := []map[string]any{block(cardText(m.Title()), map[string]any{"weight": "Bolder", "size": "Medium"})}
	for _, line := range m.lines(func(e fleet.Event) string { return cardText(plainLine(e)) }, cardText) {
		blocks = append(blocks, block(line, nil))
	}
	card := map[string]any{"$schema": "http://adaptivecards.io/schemas/adaptive-card.json", "type": "AdaptiveCard", "version": "1.4", "body": blocks}
	_, err := t.send(ctx, http.MethodPost, "", jsonType, map[string]any{
		"type":        "message",
		"attachments": []any{map[string]any{"contentType": "application/vnd.microsoft.card.adaptive", "content": card}},
	}, nil)
	if err != nil {
		return 0, err
	}
	return len(m.Events), nil
}

// cardText takes from text what a card has as Markdown.
func cardText(text string) string {
	return strings.NewReplacer("\\", "\\\\", "*", "\\*", "_", "\\_", "[", "\\[", "]", "\\]", "`", "'", "<", "‹", ">", "›", "#", "\\#").Replace(text)
}

// A matrix sends to a room. The id of a transaction is that of the message, so that a
// server shows one that comes twice once.
// Source: Matrix specification v1.11, client-server API, "Sending events to a room".
type matrix struct {
	client
	token fleet.Secret
	room  string
}

// Send implements Sender.
func (x matrix) Send(ctx context.Context, m Message) (int, error) {
	path := fmt.Sprintf("/_matrix/client/v3/rooms/%s/send/m.room.message/%s", url.PathEscape(x.room), url.PathEscape(m.ID()))
	formatted := "<strong>" + html.EscapeString(m.Title()) + "</strong><ul>"
	line := func(e fleet.Event) string {
		return "<strong>" + html.EscapeString(e.Subject()) + "</strong> " + headline(e.Type) + ": " + html.EscapeString(detail(e))
	}
	for _, l := range m.lines(line, html.EscapeString) {
		formatted += "<li>" + l + "</li>"
	}
	_, err := x.send(ctx, http.MethodPut, path, jsonType, map[string]any{
		"msgtype": "m.notice", "body": plainText(m), "m.mentions": map[string]any{},
		"format": "org.matrix.custom.html", "formatted_body": formatted + "</ul>",
	}, map[string]string{"Authorization": "Bearer " + string(x.token.Reveal())})
	if err != nil {
		return 0, err
	}
	return len(m.Events), nil
}

// plainText is m without markup.
func plainText(m Message) string {
	same := func(s string) string { return s }
	return m.Title() + "\n\n" + strings.Join(m.lines(plainLine, same), "\n") + "\n"
}
