package export

// Type is the type of a column.
type Type uint8

// Types of columns.
const (
	Int64 Type = iota
	Int32
	Double
	Text
)

// String returns the type as SQL has it.
func (t Type) String() string {
	return [...]string{"BIGINT", "INTEGER", "DOUBLE", "VARCHAR"}[t]
}

// Column is a column of the table.
type Column struct {
	Name string
	Type Type
	// Always: no row is without a value.
	Always bool
	Doc    string
}

// Indices of columns.
const (
	colTrace = iota
	colEvent
	colRank
	colStep
	colKind
	colClass
	colPhase
	colCategory
	colName
	colStart
	colDuration
	colPID
	colProcess
	colTID
	colThread
	colDevice
	colStream
	colCorrelation
	colExternal
	colParent
	colCall
	colOperatorEvent
	colOperator
	colModule
	colForward
	colPath
	colUnlinked
	colSelf
	colSelfDevice
	colDeviceTime
	colDelay
	colIdle
	colOverlap
	colGridX
	colGridY
	colGridZ
	colBlockX
	colBlockY
	colBlockZ
	colRegisters
	colShared
	colOccupancy
	colBytes
	colGraph
	colGraphNode
	colSequence
	colShapes
	colTypes
	colCollective
	colDtype
	colElementsIn
	colElementsOut
	colGroup
	colGroupSize
	colArgs
	numColumns
)

// Columns are the columns of the table, in their order.
var Columns = [numColumns]Column{
	colTrace:         {"trace", Text, true, "file name of the trace, with folders before it where several files have one name"},
	colEvent:         {"event", Int64, true, "number of the event in its trace, from 0 on"},
	colRank:          {"rank", Int32, false, "rank, where the trace says it; a folder of its own in Parquet"},
	colStep:          {"step", Int64, false, "number of the step (`ProfilerStep#N`) that a span of a host thread began in, or that device work was started in; a folder of its own in Parquet"},
	colKind:          {"kind", Text, true, "`kernel`, `memcpy`, `memcpy_peer`, `memset`, `runtime`, `driver`, `sync`, `overhead`, `gpu_user_annotation`, `host`, `other`"},
	colClass:         {"class", Text, false, "what a span of a host thread is: `operator`, `call`, `annotation`, `step`, `module`, `python`, `other`"},
	colPhase:         {"phase", Text, true, "`X` for a span, `i` for an instant; else the phase of the Trace Event Format, such as `C` for a counter"},
	colCategory:      {"category", Text, false, "category as the trace has it"},
	colName:          {"name", Text, true, "name as the trace has it"},
	colStart:         {"start_ns", Int64, true, "begin, ns since the Unix epoch; where a trace has no base time, since the zero of its own clock"},
	colDuration:      {"dur_ns", Int64, false, "length of a span, ns"},
	colPID:           {"pid", Int64, false, "process id, or the number a device's rows stand under; none where that is a text"},
	colProcess:       {"process", Text, false, "name of the process"},
	colTID:           {"tid", Int64, false, "thread id, or the number of a stream's row; none where that is a text"},
	colThread:        {"thread", Text, false, "name of the thread or row"},
	colDevice:        {"device", Int32, false, "ordinal of the device"},
	colStream:        {"stream", Int32, false, "stream"},
	colCorrelation:   {"correlation", Int64, false, "correlation id of an API call and the device work it started"},
	colExternal:      {"external_id", Int64, false, "External id: the operator's"},
	colParent:        {"parent", Int64, false, "event of the innermost span around a span of a host thread"},
	colCall:          {"call", Int64, false, "event of the API call that started device work"},
	colOperatorEvent: {"operator_event", Int64, false, "event of the operator that device work belongs to"},
	colOperator:      {"operator", Text, false, "name of that operator"},
	colModule:        {"module", Text, false, "innermost module around device work; of a backward operator that of its forward operator"},
	colForward:       {"forward", Int64, false, "event of the forward operator of a backward operator"},
	colPath:          {"path", Text, false, "call path of a span of a host thread, or the one above device work, ` > ` between names; without numbers of steps and addresses of objects; `(deeper)` is what is below 512 names"},
	colUnlinked:      {"unlinked", Text, false, "why device work has no operator"},
	colSelf:          {"self_ns", Int64, false, "for how long a span of a host thread, and nothing inside it, ran, ns"},
	colSelfDevice:    {"self_device_ns", Int64, false, "device time of the work that belongs to a span of a host thread itself, ns"},
	colDeviceTime:    {"device_ns", Int64, false, "the same with all that is inside it, ns"},
	colDelay:         {"launch_delay_ns", Int64, false, "from the begin of a call to that of the first work it started, on that work, ns; not where that is more than an hour, for clocks that are apart"},
	colIdle:          {"idle_ns", Int64, false, "for how long the device had nothing to do before device work began, ns"},
	colOverlap:       {"overlap_ns", Int64, false, "how much of device work ran beside other work of its device, ns"},
	colGridX:         {"grid_x", Int32, false, "blocks of a kernel, first dimension"},
	colGridY:         {"grid_y", Int32, false, "the same, second dimension"},
	colGridZ:         {"grid_z", Int32, false, "the same, third dimension"},
	colBlockX:        {"block_x", Int32, false, "threads of a block, first dimension"},
	colBlockY:        {"block_y", Int32, false, "the same, second dimension"},
	colBlockZ:        {"block_z", Int32, false, "the same, third dimension"},
	colRegisters:     {"registers", Int32, false, "registers per thread"},
	colShared:        {"shared_bytes", Int64, false, "shared memory of a block, static and dynamic, bytes"},
	colOccupancy:     {"occupancy_percent", Double, false, "estimated occupancy, as the trace has it"},
	colBytes:         {"bytes", Int64, false, "bytes that a copy or a fill moved"},
	colGraph:         {"graph_id", Int64, false, "graph that device work came from"},
	colGraphNode:     {"graph_node_id", Int64, false, "node of that graph"},
	colSequence:      {"sequence", Int64, false, "sequence number of an operator, which it shares with its backward operator"},
	colShapes:        {"input_shapes", Text, false, "shapes of an operator's inputs, JSON"},
	colTypes:         {"input_types", Text, false, "types of an operator's inputs, JSON"},
	colCollective:    {"collective", Text, false, "kind of a collective operation, such as `allreduce`"},
	colDtype:         {"dtype", Text, false, "type of a collective's elements"},
	colElementsIn:    {"elements_in", Int64, false, "elements that a rank puts into a collective"},
	colElementsOut:   {"elements_out", Int64, false, "elements that it gets out"},
	colGroup:         {"process_group", Text, false, "process group of a collective"},
	colGroupSize:     {"group_size", Int32, false, "ranks in that group"},
	colArgs:          {"args", Text, false, "all arguments of the event as the trace has them, JSON"},
}

// Value is a cell of the table. Which field has its value follows from its column's
// type.
type Value struct {
	Set   bool // else there is no value
	Int   int64
	Float float64
	Text  string
}

// Row is a row of the table, parallel to Columns.
type Row [numColumns]Value

// int sets a number that the column can hold.
func (r *Row) int(col int, v int64) {
	if Columns[col].Type == Int64 || v == int64(int32(v)) {
		r[col] = Value{Set: true, Int: v}
	}
}

func (r *Row) text(col int, s string) { r[col] = Value{Set: true, Text: s} }

// some sets a text that is not empty.
func (r *Row) some(col int, s string) {
	if s != "" {
		r.text(col, s)
	}
}
