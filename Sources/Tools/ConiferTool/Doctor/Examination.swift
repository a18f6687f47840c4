import ConiferKeyValue
import ConiferStorage
import ConiferTree

/// What can be seen of a store, whatever is wrong with it, and what a copy of its files tells when it is opened.
///
/// The store itself is only read, and so is the file of its owner.
struct Examination {
  let address: StoreAddress
  /// The absolute directory without links.
  let directory: String
  /// Who has it open; nil when that could not be found out.
  var owner: StoreOwner?
  var files: [(name: String, bytes: Int)] = []
  /// Whether this process may change the store, as opening it does.
  var isWritable = true
  /// The bytes that are free on its volume; nil when the system does not say.
  var freeSpace: Int?
  /// What the mark of synced commits says.
  var mark: String?
  /// Directories beside it with what was left of a salvage or a migration.
  var beside: [Beside] = []
  /// Why it could not be opened or looked at.
  var refusal: Failure?
  /// Nil where no copy was checked.
  var verification: StoreVerification?
  /// What the open copy told of itself; empty where it told nothing.
  var inside = Node.empty
  /// Why it told nothing although it was checked.
  var silence: Failure?

  /// Whether it was opened as a copy, nothing was wrong with it, and nobody was at work on it: only then may something be
  /// removed or changed that belongs to it.
  var isSettled: Bool {
    refusal == nil && owner?.isOpen == false && verification?.isSound == true
  }

  init(of address: StoreAddress) {
    self.address = address
    directory = address.absolute
  }

  /// Looks at the store.
  ///
  /// - Throws: what is not about the store, such as a process that cannot be started.
  static func of(_ address: StoreAddress, _ console: Console) throws -> Examination {
    var examination = Examination(of: address)
    do {
      try examination.lookAtFiles()
      try examination.open(console)
    } catch {
      guard let failure = Failure(error) else { throw error }
      examination.refusal = failure
    }
    // Last, so that a salvage that has begun meanwhile is seen.
    examination.beside = Beside.all(of: address)
    return examination
  }

  private mutating func lookAtFiles() throws {
    guard !Platform.isRegularFile(directory) else {
      throw Failure("foreign", .foreign, "\(directory) is a file, and a store is a directory.")
    }
    guard try address.isPresent() else {
      throw Failure.missing("no-store", "There is no store at \(directory).")
    }
    files = try ScratchCopy.files(directory)
    isWritable = ([directory] + files.map { "\(directory)/\($0.name)" })
      .allSatisfy(Platform.isWritable)
    freeSpace = Platform.freeSpace(at: directory)
    mark = SyncMark.words(in: directory)
  }

  /// Opens a copy, unless somebody has the store open or is still making it.
  private mutating func open(_ console: Console) throws {
    let directory = self.directory
    let copy = try StoreOwner.look(in: directory) { owner -> ScratchCopy? in
      self.owner = owner
      guard !owner.isOpen else { return nil }
      if let lines = try UnfinishedStore.lines(directory) {
        throw Failure(
          "unfinished", .foreign,
          "The store is not whole: \(lines.first ?? "wait for whoever makes it").")
      }
      return try Self.alone(in: directory) { try ScratchCopy(of: directory) }
    }
    guard let copy else { return }
    defer { copy.remove() }
    verification = try StoreVerification.run(address, at: copy.directory, console)
    ask(copy.directory)
  }

  /// Makes a copy, and refuses it when somebody may have torn it: a store without a lock's file is not locked while it is
  /// copied, and who opens it makes one.
  static func alone(
    in directory: String, _ copy: () throws -> ScratchCopy
  ) throws -> ScratchCopy {
    let wasLocked = Platform.exists(directory + "/owner")
    let copy = try copy()
    guard !wasLocked, Platform.exists(directory + "/owner") else { return copy }
    copy.remove()
    throw Failure.notChecked(
      Failure("busy", .busy, "somebody has opened it for the first time while it was copied."))
  }

  /// Has a process of its own open the copy. Damaged records are set aside in it, as an app's cache would.
  private mutating func ask(_ copy: String) {
    guard let verification, verification.death == nil, !verification.isPartial else { return }
    let role = verification.isSound ? StoreRole.authority : .cache
    let url = address.url(at: copy, [("budget", "unlimited"), ("role", role.rawValue)])
    let key = address.keyFile.map { ["--key-file", $0] } ?? []
    do {
      switch try Worker.run(["doctor-worker", "--store", url] + key, { _ in }) {
      case .result(let told): inside = told
      case .failure(let failure):
        let message = failure.message.replacing(copy, with: address.directory)
        let told = Failure(failure.code, failure.status, message)
        silence = told.isOfCopy ? Failure.notChecked(told) : told
      case .stopped(let how): silence = Failure.stopped(how)
      case .died(let how):
        silence = Failure("damaged", .damaged, "The engine died (\(how)) when it was asked.")
      }
    } catch {
      silence = Failure.notChecked(error)
    }
  }
}
