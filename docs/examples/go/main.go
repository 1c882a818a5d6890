// Prints admissions and preemptions as Tidegate publishes them: each once, in the ledger's order, none left out.
//
//	go run . nats://127.0.0.1:4222 [SEQ]
//
// From SEQ on; without it from the first that EVENTS holds. Of several partitions each counts its own:
// 0=41,1=7. Environment: TIDEGATE_CLUSTER (local), TIDEGATE_PARTITION (a number; default: all that there
// are at the start), TIDEGATE_NATS_CREDENTIALS and TIDEGATE_NATS_CA (files), TIDEGATE_NATS_INBOX (a prefix,
// where the user has one), TIDEGATE_SERVER (http://… of `tidegate serve`, which has what the stream no
// longer holds; of another partition than 0 TIDEGATE_SERVER_1).
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// decision holds the fields that the events below have in common.
type decision struct {
	Workload     string `json:"workload"`
	ClusterQueue string `json:"cluster_queue"`
	By           string `json:"by"`
}

// entry is an event as the ledger's server tells it.
type entry struct {
	Seq   int64    `json:"seq"`
	At    string   `json:"at"`
	Type  string   `json:"type"`
	Event decision `json:"event"`
}

// follower knows the newest seq that was told, and of which ledger; at is -1 before the first.
type follower struct {
	at     int64
	ledger string
	server string
}

func main() {
	url := nats.DefaultURL
	if len(os.Args) > 1 {
		url = os.Args[1]
	}
	since := ""
	if len(os.Args) > 2 {
		since = os.Args[2]
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := follow(ctx, url, since); err != nil && ctx.Err() == nil {
		log.Fatal(err)
	}
}

func options() []nats.Option {
	found := []nats.Option{nats.MaxReconnects(-1)}
	if file := os.Getenv("TIDEGATE_NATS_CREDENTIALS"); file != "" {
		found = append(found, nats.UserCredentials(file))
	}
	if file := os.Getenv("TIDEGATE_NATS_CA"); file != "" {
		found = append(found, nats.RootCAs(file))
	}
	if prefix := os.Getenv("TIDEGATE_NATS_INBOX"); prefix != "" {
		found = append(found, nats.CustomInboxPrefix(prefix))
	}
	return found
}

// follow prints the events of every partition that is asked for until the context ends.
func follow(ctx context.Context, url, since string) error {
	connection, err := nats.Connect(url, options()...)
	if err != nil {
		return err
	}
	defer connection.Close()
	js, err := jetstream.New(connection)
	if err != nil {
		return err
	}
	cluster := os.Getenv("TIDEGATE_CLUSTER")
	if cluster == "" {
		cluster = "local"
	}
	numbers, err := partitions(ctx, connection, cluster)
	if err != nil {
		return err
	}
	ended := make(chan error)
	for _, number := range numbers {
		first, err := firstSeq(since, number)
		if err != nil {
			return err
		}
		go func() { ended <- followOne(ctx, js, cluster, number, first) }()
	}
	return <-ended // who misses one partition's events ends
}

// partitions returns those that are asked for: one, or all whose ledgers the register names.
func partitions(ctx context.Context, connection *nats.Conn, cluster string) ([]int64, error) {
	if text := os.Getenv("TIDEGATE_PARTITION"); text != "" {
		number, err := strconv.ParseInt(text, 10, 64)
		return []int64{number}, err
	}
	bucket := "tidegate_" + cluster + "_register"
	// Stream.Info with a filter sends fields that newer servers refuse.
	body := fmt.Appendf(nil, `{"subjects_filter": "$KV.%s.>"}`, bucket)
	asked, stop := context.WithTimeout(ctx, 10*time.Second)
	defer stop()
	answer, err := connection.RequestWithContext(asked, "$JS.API.STREAM.INFO.KV_"+bucket, body)
	if err != nil {
		return nil, err
	}
	var info struct {
		Error *jetstream.APIError   `json:"error"`
		State jetstream.StreamState `json:"state"`
	}
	if err := json.Unmarshal(answer.Data, &info); err != nil {
		return nil, err
	}
	if info.Error != nil && info.Error.Code != 404 {
		return nil, info.Error
	}
	numbers := []int64{0}
	for subject := range info.State.Subjects {
		text, found := strings.CutPrefix(subject, "$KV."+bucket+".ledger-")
		if number, err := strconv.ParseInt(text, 10, 64); found && err == nil {
			numbers = append(numbers, number)
		}
	}
	return numbers, nil
}

// firstSeq reads "41", which is meant of each partition, or "0=41,1=7"; 0: the first that EVENTS holds.
func firstSeq(since string, partition int64) (int64, error) {
	if !strings.Contains(since, "=") {
		if since == "" {
			return 0, nil
		}
		return strconv.ParseInt(since, 10, 64)
	}
	for _, part := range strings.Split(since, ",") {
		number, seq, _ := strings.Cut(part, "=")
		if number == strconv.FormatInt(partition, 10) {
			return strconv.ParseInt(seq, 10, 64)
		}
	}
	return 1, nil
}

// followOne prints a partition's events. An ordered consumer leaves nothing on the server and begins
// again by itself after a lost connection.
func followOne(ctx context.Context, js jetstream.JetStream, cluster string, partition, since int64) error {
	name, subjects, server := "tidegate_"+cluster+"_events", "tidegate."+cluster+".event.>", "TIDEGATE_SERVER"
	if partition > 0 {
		name = fmt.Sprintf("%s_%d", name, partition)
		subjects = fmt.Sprintf("tidegate.%s.partition.%d.event.>", cluster, partition)
		server = fmt.Sprintf("%s_%d", server, partition)
	}
	stream, err := js.Stream(ctx, name)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	asked := jetstream.OrderedConsumerConfig{FilterSubjects: []string{subjects}}
	told := &follower{at: -1, server: os.Getenv(server)}
	if since > 0 {
		told.at = since - 1
		asked.DeliverPolicy = jetstream.DeliverByStartSequencePolicy
		if asked.OptStartSeq, err = firstSequence(ctx, stream, subjects, since); err != nil {
			return err
		}
	}
	consumer, err := stream.OrderedConsumer(ctx, asked)
	if err != nil {
		return err
	}
	messages, err := consumer.Messages()
	if err != nil {
		return err
	}
	context.AfterFunc(ctx, messages.Stop)
	for {
		message, err := messages.Next()
		if err != nil {
			return err
		}
		if err := told.take(ctx, message); err != nil {
			return err
		}
	}
}

// firstSequence returns where an event stands in the stream, which counts from another number than the
// ledger: Nats-Msg-Id says by how much, behind an @.
func firstSequence(ctx context.Context, stream jetstream.Stream, subjects string, since int64) (uint64, error) {
	newest, err := stream.GetLastMsgForSubject(ctx, subjects)
	if err != nil {
		return 0, err
	}
	offset := int64(0)
	if _, text, found := strings.Cut(newest.Header.Get("Nats-Msg-Id"), "@"); found {
		if offset, err = strconv.ParseInt(text, 10, 64); err != nil {
			return 0, err
		}
	}
	return uint64(max(1, since+offset)), nil
}

// take tells a message, what is missing before it first; one that was told already is passed over.
func (f *follower) take(ctx context.Context, message jetstream.Msg) error {
	header := message.Headers()
	ledger, text, _ := strings.Cut(header.Get("ce-id"), "/")
	seq, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return fmt.Errorf("%s is no event: %w", message.Subject(), err)
	}
	if f.at >= 0 && (f.ledger == "" || f.ledger == ledger) {
		if seq <= f.at {
			return nil
		}
		if err := f.fill(ctx, ledger, seq); err != nil {
			return err
		}
	}
	var event decision
	if err := json.Unmarshal(message.Data(), &event); err != nil {
		return fmt.Errorf("%s: %w", message.Subject(), err)
	}
	f.at, f.ledger = seq, ledger
	show(header.Get("ce-time"), ledger, seq, strings.TrimPrefix(header.Get("ce-type"), "dev.tidegate."), event)
	return nil
}

// fill tells what lies before a seq and was not told, from the ledger.
func (f *follower) fill(ctx context.Context, ledger string, before int64) error {
	for f.at+1 < before && f.server != "" {
		limit := min(1000, before-1-f.at)
		url := fmt.Sprintf("%s/v1/events?after=%d&limit=%d", f.server, f.at, limit)
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return err
		}
		answer, err := http.DefaultClient.Do(request)
		if err != nil {
			return err
		}
		var told []entry
		err = json.NewDecoder(answer.Body).Decode(&told)
		answer.Body.Close()
		if err != nil {
			return fmt.Errorf("%s answered %s: %w", f.server, answer.Status, err)
		}
		if len(told) == 0 || told[0].Seq != f.at+1 {
			break
		}
		for _, one := range told {
			show(one.At, ledger, one.Seq, one.Type, one.Event)
			f.at = one.Seq
		}
	}
	if f.at+1 < before {
		return fmt.Errorf("events %d to %d are missing", f.at+1, before-1)
	}
	return nil
}

func show(at, ledger string, seq int64, kind string, told decision) {
	if kind != "WorkloadAdmitted" && kind != "WorkloadPreempted" {
		return
	}
	line := fmt.Sprintf("%s %s/%d %s %s in %s", at, ledger, seq, kind, told.Workload, told.ClusterQueue)
	if told.By != "" {
		line += " by " + told.By
	}
	fmt.Println(line)
}
