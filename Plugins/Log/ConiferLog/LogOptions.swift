/// The tuning options of a log store; the defaults suit a phone.
public struct LogOptions: Sendable, Equatable {
  /// Bytes of a segment, 1 KB to 64 MB: larger ones mean fewer files and coarser compaction. A
  /// larger commit gets a segment of its own size.
  public var segment = 4 << 20
  /// Bytes of index entries in memory before they are folded into a table on disk.
  public var tail = 256 << 10
  /// Bytes of journal before the index is folded, so that opening replays no more than that.
  public var journal = 4 << 20
  /// Bytes of index blocks that are kept in memory, decoded.
  public var cache = 2 << 20
  /// Bytes of dead data, above what is live, at which commits begin to compact.
  public var slack = 8 << 20
  /// Bytes set aside on disk, so that deleting goes on when it is full; 0 for none.
  public var reserve = 1 << 20
  /// How many segments are kept open for reading.
  public var filesKept = 64

  /// The defaults.
  public init() {}

  /// The options with invalid values corrected.
  var checked: LogOptions {
    var options = self
    options.segment = min(max(segment, 1 << 10), 64 << 20)
    options.tail = max(0, tail)
    options.journal = max(0, journal)
    options.cache = max(0, cache)
    options.slack = max(0, slack)
    options.reserve = max(0, reserve)
    options.filesKept = max(1, filesKept)
    return options
  }
}
