import ConiferKeyValue
import ConiferLeafStore

/// The totals of a lane, in one small row after its writes, updated in the commits that change
/// them.
struct LaneTotals: Equatable {
  var pending = 0
  var rejected = 0
  /// Bytes of the records of unfinished writes.
  var bytes = 0
  /// The newest number that was ever assigned.
  var newest: UInt64 = 0
  var finished = 0

  var payload: Bytes {
    var writer = ByteWriter()
    writer.varint(pending)
    writer.varint(rejected)
    writer.varint(bytes)
    writer.varint(newest)
    writer.varint(finished)
    return writer.bytes
  }

  init() {}

  init?(_ payload: Bytes) {
    var reader = ByteReader(payload)
    guard let pending = reader.size(), let rejected = reader.size(), let bytes = reader.varint(),
      let newest = reader.varint(), let finished = reader.size(), bytes < 1 << 56,
      newest <= Numbers.lastWrite
    else { return nil }
    self.pending = pending
    self.rejected = rejected
    self.bytes = Int(bytes)
    self.newest = newest
    self.finished = finished
  }
}
