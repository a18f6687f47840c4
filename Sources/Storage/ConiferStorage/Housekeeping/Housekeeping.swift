/// Whether a client or a server keeps its storage tidy by itself.
///
/// Tidying trains dictionaries, packs what was written in small pieces, gives space back to the file
/// system and finishes a rotation of keys.
public enum Housekeeping: String, Hashable, Sendable, CaseIterable {
  /// While the storage has nothing else to do, a few milliseconds at a time: a write waits for one such
  /// slice at most.
  case automatic
  /// Never: the storage is as tidy as commits leave it, until a tool or a later run tidies it.
  case off
}
