import ArgumentParser
import ConiferKeyValue
import ConiferStorage
import ConiferTree

/// Checks everything that a store holds.
struct VerifyCommand: ToolCommand {
  static let configuration = CommandConfiguration(
    commandName: "verify",
    abstract: "Check every checksum and every rule of a store, and change nothing.",
    discussion: """
      Ends with 0 when the store is sound and with 76 when it is damaged; any other status says why it \
      could not be opened. A process of its own reads the store, so that an engine which dies on a \
      damaged file is a finding too. Opening a store that was not closed in order recovers it, as \
      every command does, and stores a report of durable commits that it finds missing; --copy checks a \
      copy of the files instead, so that not a byte is written. What says nothing about the store fails with \
      not-checked: no room for the copy, or a process that was killed.
      """)

  @Flag(help: "Check a copy of the files, made in the directory for temporary files.")
  var copy = false
  @OptionGroup var store: StoreOptions

  func run(_ console: Console) async throws {
    let keyFile = KeyFile.path(store.keyFile, console)
    try KeyFile.requireRereadable(keyFile)
    let address = try StoreAddress(store.url(console), keyFile: keyFile, console)
    try address.mustBePresent()
    let verification: StoreVerification
    if copy {
      let copy = try ScratchCopy(of: address.directory)
      defer { copy.remove() }
      verification = try StoreVerification.run(address, at: copy.directory, console)
    } else {
      verification = try StoreVerification.run(address, console)
    }
    if let opening = verification.opening { console.note("conifer: damaged: \(opening.shown)") }
    for line in store.json ? [verification.json.compact] : verification.lines.map(\.shown) {
      try console.print(line)
    }
    guard verification.isSound else {
      throw Failure(
        "damaged", .damaged,
        "The store is not sound: \(verification.found) findings. conifer salvage saves into a new "
          + "store what can be read.")
    }
  }
}
