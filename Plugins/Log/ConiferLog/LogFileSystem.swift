package import ConiferKeyValue
package import ConiferStorage

/// The calls of the operating system that a log store makes on its directory; tests can inject
/// faults here.
///
/// Each call is about one system call; the caller handles interruptions and short reads or writes.
package protocol LogFileSystem: Sendable {
  /// Makes a directory that lasts, and those above it.
  func makeDirectory(_ path: String) throws(StoreError)
  /// Takes the lock that names the store's owner; nil where no other process can open the store.
  func own(_ path: String) throws(StoreError) -> OwnerLock?
  /// The names in a directory.
  func names(in directory: String) throws(FileFailure) -> [String]
  /// Opens a file; nil when it is missing and may not be created.
  func open(_ path: String, _ access: FileAccess) throws(FileFailure) -> (any LogFile)?
  /// Gives a file another name, replacing what stood there.
  func rename(_ path: String, to new: String) throws(FileFailure)
  /// Removes a file.
  func remove(_ path: String) throws(FileFailure)
  /// Makes changes of names survive power loss.
  func syncDirectory(_ path: String) throws(FileFailure)
}

/// An open file, closed with its last reference.
package protocol LogFile: AnyObject, Sendable {
  /// How many bytes it has.
  func length() throws(FileFailure) -> Int
  /// Reads some bytes from an offset; 0 at the end.
  func read(_ buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws(FileFailure) -> Int
  /// Writes some of the bytes at an offset.
  func write(_ bytes: UnsafeRawBufferPointer, at offset: Int) throws(FileFailure) -> Int
  /// Makes all written bytes survive power loss.
  func sync() throws(FileFailure)
  /// Makes the file at least a given length, with space allocated on the medium where the system
  /// supports that.
  func allocate(_ length: Int) throws(FileFailure)
  /// Cuts the file.
  func truncate(_ length: Int) throws(FileFailure)
}

/// How a file is opened.
package enum FileAccess: Sendable {
  case read
  case write
  /// Made when it is missing, emptied when it is not.
  case create
}

/// An error number of the operating system.
package struct FileFailure: Error, Equatable {
  package let number: Int32

  package init(_ number: Int32) { self.number = number }
}
