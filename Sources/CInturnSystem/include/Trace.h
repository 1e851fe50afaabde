// What the recorder keeps of the last seconds (see `Recorder`), and the writer
// that makes a file of it which Perfetto and Chrome open.
#ifndef CINTURN_TRACE_H
#define CINTURN_TRACE_H

#include <stdbool.h>
#include <stdint.h>

/// What a record says. `operation` and `other` are the bits of handles without
/// their uppermost byte; `lane` stands for a queue, until that is gone.
enum inturn_system_trace_kind {
  /// `operation` got into `lane`. A plain operation has no number yet: it is 0,
  /// and the lower 48 bits of `other` are its place, which is not 0. A place
  /// may
  /// be given again once what was there has been started.
  INTURN_SYSTEM_TRACE_ENQUEUED = 1,
  /// The call of `operation` begins on this thread. The lower 48 bits of
  /// `other` are the place that a plain operation's enqueue was given, else 0.
  INTURN_SYSTEM_TRACE_STARTED,
  /// The call of `operation` has returned on this thread. Left out when the
  /// thread's next record is another start on the same lane. `lane` is 0.
  INTURN_SYSTEM_TRACE_RETURNED,
  /// `operation` has ended, by this thread; `outcome` says how. `lane` is 0:
  /// it is that of the start.
  INTURN_SYSTEM_TRACE_ENDED,
  /// `operation` no longer waits for the operation `other`, which has ended.
  INTURN_SYSTEM_TRACE_RELEASED,
  /// This thread begins a turn at `lane` for the executor `other`. `operation`
  /// is how many of the lane's operations may run at once, 0 if there is no
  /// limit.
  INTURN_SYSTEM_TRACE_TURN,
  /// The lane's plain operations have lost their places: they were cancelled,
  /// or moved.
  INTURN_SYSTEM_TRACE_MOVED,
  INTURN_SYSTEM_TRACE_SUSPENDED,
  INTURN_SYSTEM_TRACE_RESUMED,
  /// The label of `operation` follows in the next record's four words, cut to
  /// 31 bytes and ended by a zero.
  INTURN_SYSTEM_TRACE_LABEL,
  /// The label of `lane`, whose queue is being destroyed, likewise.
  INTURN_SYSTEM_TRACE_GONE,
};

/// Four words. Those after a LABEL or GONE are text, in the same block.
struct inturn_system_trace_record {
  uint64_t time;      // in ticks of the recorder's clock
  uint64_t lane;      // without its last byte; the kind is in the uppermost one
  uint64_t operation; // the uppermost byte is the lane's last; for ENDED, which
                      // has no lane, it is the outcome
  uint64_t other;     // the site is in the upper 16 bits; for RELEASED and
                      // TURN all of it is a handle or 0
};

/// The records of one thread that were made one after the other. Those of a
/// thread that are lost are older than those that are here.
struct inturn_system_trace_block {
  uint64_t sequence; // of this thread's blocks, the one with a lower number is
                     // earlier
  uint64_t thread;   // the system's number
  char name[16];     // the thread's, as it was then or some blocks before
  uint64_t count;
  const struct inturn_system_trace_record *_Nullable records;
};

/// What the writer needs to know besides. The texts live until it returns.
struct inturn_system_trace {
  const struct inturn_system_trace_block *_Nullable blocks;
  uint64_t block_count;
  /// Two readings of both clocks, for the conversion to nanoseconds.
  uint64_t first_ticks, last_ticks;
  int64_t first_ns, last_ns;
  /// What is older is not told.
  uint64_t since;
  /// From then on, in ticks, no record is lost, of any thread; 0 when none has
  /// ever been. What was before may have ended, or moved, without a record.
  uint64_t complete;
  /// Records that found no room.
  uint64_t lost;
  /// Copies the name of a queue or an executor into the room. False when it is
  /// gone.
  bool (*_Nullable queue_label)(uint64_t lane, char *_Nonnull room,
                                uintptr_t size);
  bool (*_Nullable executor_label)(uint64_t executor, char *_Nonnull room,
                                   uintptr_t size);
  /// The file, function and line of a site; false when there is none.
  bool (*_Nullable site)(uint16_t site, const char *_Nullable *_Nonnull file,
                         const char *_Nullable *_Nonnull function,
                         uint32_t *_Nonnull line);
};

/// Writes the trace in the format of Chrome's trace events. 0, or ENOMEM, or
/// the error of writing.
int inturn_system_trace_write(int descriptor,
                              const struct inturn_system_trace *_Nonnull trace);

/// Writes the last steps of these queues, or of all for NULL, as text: a line
/// each, the oldest first, of each sort at most eight. What has no room is left
/// out. Returns the length; the text ends with a zero.
uint64_t
inturn_system_trace_steps(const struct inturn_system_trace *_Nonnull trace,
                          const uint64_t *_Nullable lanes, uint64_t count,
                          char *_Nonnull room, uint64_t size);

#endif
