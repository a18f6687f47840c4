/// The exit statuses of the process, as Docs/Tool.md lists them; they are those of sysexits.h where
/// one fits.
enum ToolStatus: Int32, CaseIterable {
  case success = 0
  /// `demo` found that something acknowledged is missing.
  case disproved = 1
  /// `doctor` found something that needs care.
  case care = 2
  /// The arguments, the store's URL or a query are invalid.
  case usage = 64
  /// JSON, a key, a path or a value is not as it must be.
  case badData = 65
  /// The file, store, tree or write that was named is not there.
  case missing = 66
  /// Another process has the store open.
  case busy = 69
  /// A mistake in the tool or a store that was closed under it.
  case `internal` = 70
  /// The operating system failed to read, write or sync.
  case io = 74
  /// The disk or quota is full.
  case full = 75
  /// Stored bytes are not what was written.
  case damaged = 76
  /// The operating system denies access.
  case denied = 77
  /// The files are no store of this kind, or a newer version's.
  case foreign = 78
}
