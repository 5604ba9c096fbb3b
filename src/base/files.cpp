#include "base/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include "base/error.h"

namespace moetune {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const char* what, const fs::path& path, const std::string& reason) {
  throw Error(ExitCode::usage, std::string("cannot ") + what + " " + path.string() + ": " + reason);
}

[[noreturn]] void fail(const char* what, const fs::path& path, int error) {
  fail(what, path, std::generic_category().message(error));
}

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }
  int release() { return std::exchange(fd_, -1); }

 private:
  int fd_;
};

std::string read_plain(const fs::path& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0) fail("read", path, errno);
  std::string content;
  char block[1 << 16];
  while (true) {
    const ssize_t got = ::read(file.get(), block, sizeof(block));
    if (got == 0) return content;
    if (got > 0) {
      content.append(block, static_cast<std::size_t>(got));
    } else if (errno != EINTR) {
      fail("read", path, errno);
    }
  }
}

std::string read_gzip(const fs::path& path) {
  Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0) fail("read", path, errno);
  gzFile stream = ::gzdopen(file.get(), "rb");
  if (stream == nullptr) fail("read", path, "out of memory");
  file.release();  // gzclose closes it
  std::string content;
  char block[1 << 16];
  int got = 0;
  while ((got = ::gzread(stream, block, sizeof(block))) > 0) content.append(block, static_cast<std::size_t>(got));
  int error = Z_OK;
  const std::string message = ::gzerror(stream, &error);
  const int system_error = errno;
  const int closed = ::gzclose_r(stream);
  if (got < 0) fail("read", path, error == Z_ERRNO ? std::generic_category().message(system_error) : message);
  // A stream that is cut off reads to its end without an error and says so only here.
  if (closed != Z_OK) fail("read", path, "the compressed file is cut off");
  return content;
}

// 0, or the error number.
int write_all(int fd, std::string_view content) {
  while (!content.empty()) {
    const ssize_t put = ::write(fd, content.data(), content.size());
    if (put >= 0) {
      content.remove_prefix(static_cast<std::size_t>(put));
    } else if (errno != EINTR) {
      return errno;
    }
  }
  return 0;
}

// 0, or the error number. A close that fails (network file systems) is a failed write.
int write_synced(int fd, std::string_view content) {
  int error = write_all(fd, content);
  if (error == 0 && ::fsync(fd) != 0) error = errno;
  if (::close(fd) != 0 && error == 0) error = errno;
  return error;
}

// A device or pipe must be written, not replaced; it has no old content to keep.
void write_in_place(const fs::path& path, std::string_view content) {
  const Descriptor file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (file.get() < 0) fail("write", path, errno);
  if (const int error = write_all(file.get(), content)) fail("write", path, error);
}

fs::path temporary_beside(const fs::path& path) {
  static std::atomic<unsigned> counter{0};
  std::string name = path.filename().string();
  name.append(".").append(std::to_string(::getpid()));
  name.append(".").append(std::to_string(counter++)).append(".tmp");
  return path.parent_path() / name;
}

}  // namespace

std::string read_file(const fs::path& path) { return path.extension() == ".gz" ? read_gzip(path) : read_plain(path); }

void write_file_atomically(const fs::path& requested, std::string_view content) {
  std::error_code ignored;
  // Through a link, so that the link stays and the file it names is replaced.
  const fs::path path = fs::is_symlink(requested, ignored) ? fs::weakly_canonical(requested, ignored) : requested;
  const fs::file_status status = fs::status(path, ignored);
  if (fs::is_directory(status)) fail("write", requested, EISDIR);
  if (fs::exists(status) && !fs::is_regular_file(status)) return write_in_place(path, content);

  if (path.has_parent_path()) {
    std::error_code error;
    fs::create_directories(path.parent_path(), error);
    if (error) fail("create folder", path.parent_path(), error.value());
  }
  const fs::path temporary = temporary_beside(path);
  const int fd = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (fd < 0) fail("write", requested, errno);
  int error = write_synced(fd, content);
  if (error == 0 && ::rename(temporary.c_str(), path.c_str()) != 0) error = errno;
  if (error != 0) {
    ::unlink(temporary.c_str());
    fail("write", requested, error);
  }
}

}  // namespace moetune
