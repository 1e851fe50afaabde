/*
 * qt_onboarding.cpp - a first-run screen in Qt 6: dialogs, one at a time.
 *
 *     qt_onboarding [--fast] [--service-up]    (no pauses; nothing to notice)
 *
 * The same four interactions as in ../c/onboarding.c, in real windows. Each is
 * an operation of one interaction queue on the main executor, which is attached
 * to Qt's own loop. Its work opens a modal dialog, which owns the token, and
 * returns; the answer finishes the token, and the next dialog opens after that.
 *
 * - While the first-run window is not on screen, nothing is asked: after the
 *   first answer the program shows something else, until the user comes back.
 * - When the user has begun to sign in, a thread enqueues an urgent notice. It
 *   does not wait for the open dialog: that gives way, and is presented again
 *   after the notice, as it was.
 * - Escape cancels the open dialog, Control-E hides the first-run window.
 *   Closing that, or Control-Q, cancels all.
 * - The window lists what waits, what is shown and how each has ended. What
 *   happens is on the standard output, too.
 *
 * SPDX-License-Identifier: MIT
 */
#include "qt_look.hpp"

#include <inturn.hpp>
#include <inturn/qt.hpp>

#include <atomic>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <thread>

namespace {

enum reason { permission_denied = 1, too_many_tries = 2 };

struct step {
  const char *label, *heading, *text, *accept;
  const char *decline = nullptr; /* null if nothing can be declined */
  bool granted = false;          /* nothing has to be asked */
};

const step location{
    "location", "Use your location?",
    "The app shows what is near you. Your location stays on this computer.",
    "Allow", "Not now"};
const step camera{"camera", "Use the camera?", "The app scans codes with it.",
                  "Allow",  "Not now",         true};
const step sign_in{"sign-in", "Sign in", "Your password (here it is “inturn”).",
                   "Sign in", "Cancel"};
const step notice{"service notice", "The service is down",
                  "Some things will not work today.", "Continue"};
const step urgent{"urgent notice", "Battery low",
                  "Plug the computer in: five minutes are left.", "OK"};

/* What is left of the sign-in while its dialog gives way. */
struct draft {
  QString typed, hint;
  int tries_left = 3;
};

/* The standard output: one line for each event. */
void say(const std::string &what) {
  std::puts(what.c_str());
  std::fflush(stdout);
}

/* A key for the whole window. */
void add_key(QWidget *window, const QKeySequence &key,
             std::function<void()> action) {
  QObject::connect(new QShortcut(key, window), &QShortcut::activated,
                   std::move(action));
}

/* A modal dialog, which ends its operation. */
class dialog : public QDialog {
public:
  dialog(QWidget *screen, const step &of, draft &kept, inturn::token token)
      : QDialog(screen), of_(of), kept_(kept), token_(std::move(token)) {
    auto *box = new QVBoxLayout(this);
    auto *buttons = new QHBoxLayout;
    setWindowTitle(of.heading);
    setFixedWidth(400);
    box->setContentsMargins(24, 24, 24, 24);
    box->setSpacing(12);
    box->addWidget(make_label(of.heading, "heading"));
    box->addWidget(make_label(of.text));
    if (&of == &sign_in)
      add_entry(box);
    box->addSpacing(8);
    box->addLayout(buttons);
    buttons->setSpacing(12);
    if (of.decline != nullptr)
      buttons->addWidget(make_button(of.decline, [this] { decline(); }), 1);
    auto *button = make_button(of.accept, [this] { accept_answer(); });
    button->setDefault(true);
    buttons->addWidget(button, 1);
    if (entry_ != nullptr)
      entry_->setFocus();
    else
      button->setFocus();
    /* Escape, or the window manager. */
    connect(this, &QDialog::rejected, [this] { close_then().cancel(); });
  }

  bool is_of(inturn::token_ref token) const {
    return token_.raw().bits == token.raw().bits;
  }
  const step &of() const { return of_; }
  QLineEdit *entry() const { return entry_; }

  /* Closes it, and returns its token. */
  inturn::token close_then() {
    if (entry_ != nullptr)
      kept_.typed = entry_->text();
    say(std::string("closed ") + of_.label);
    disconnect();
    hide();
    deleteLater(); /* once its button's call has returned */
    return std::move(token_);
  }

private:
  void add_entry(QVBoxLayout *box) {
    entry_ = new QLineEdit(kept_.typed);
    entry_->setEchoMode(QLineEdit::Password);
    hint_ = make_label(kept_.hint, "hint");
    box->addWidget(entry_);
    box->addWidget(hint_);
  }

  QPushButton *make_button(const char *text, std::function<void()> clicked) {
    auto *button = new QPushButton(text);
    connect(button, &QPushButton::clicked, std::move(clicked));
    return button;
  }

  void accept_answer() {
    if (entry_ == nullptr || entry_->text() == "inturn") {
      close_then().finish();
    } else if (--kept_.tries_left == 0) {
      close_then().fail(too_many_tries);
    } else {
      kept_.hint = QString("That is not it; %1 left.").arg(kept_.tries_left);
      hint_->setText(kept_.hint);
      entry_->clear();
      entry_->setFocus();
      say(std::string("refused ") + of_.label);
    }
  }

  void decline() {
    if (entry_ != nullptr)
      close_then().cancel();
    else
      close_then().fail(permission_denied);
  }

  const step &of_;
  draft &kept_;
  inturn::token token_;
  QLineEdit *entry_ = nullptr; /* of the sign-in */
  QLabel *hint_ = nullptr;
};

/* A window that reports when it comes on screen, and when it goes. */
class watched_window : public QWidget {
public:
  std::function<void(bool)> on_visible = [](bool) {};
  std::function<void()> on_close;

protected:
  void showEvent(QShowEvent *) override { look(); }
  void hideEvent(QHideEvent *) override { look(); }
  void changeEvent(QEvent *event) override {
    if (event->type() == QEvent::WindowStateChange)
      look();
  }
  void closeEvent(QCloseEvent *event) override {
    event->ignore(); /* the program hides it at the end */
    on_close();
  }

private:
  void look() {
    const bool is_visible = isVisible() && !isMinimized();
    if (std::exchange(was_visible_, is_visible) != is_visible)
      on_visible(is_visible);
  }

  bool was_visible_ = false;
};

/* The first-run screen and its queue. Everything runs on the main thread,
   unless a comment says otherwise. */
class onboarding {
public:
  onboarding(bool fast, bool service_up)
      : delay_(fast ? 0 : 400), service_up_(service_up),
        queue_(inturn::interaction, options_of(fast)),
        main_(inturn::fifo, options_for("main thread")) {
    make_screen();
    make_elsewhere();
  }

  void run() {
    for (const step *of : {&location, &camera, &sign_in, &notice}) {
      list_->set(of->label, step_list::waiting, "waiting");
      enqueue(*of);
    }
    screen_.show();
    QApplication::exec(); /* until the window is closed */
    for (std::thread *thread : {&battery_, &service_})
      if (thread->joinable())
        thread->join();
    screen_.hide();
    inturn::main_executor().drain(); /* the last ends */
  }

private:
  static inturn::queue_options options_for(const char *label) {
    inturn::queue_options options;
    options.label = label;
    options.executor = inturn::main_executor();
    return options;
  }
  static inturn::queue_options options_of(bool fast) {
    inturn::queue_options options = options_for("onboarding");
    options.stall = inturn::nanoseconds(-1); /* people take their time */
    if (fast)
      options.settle = options.gap = {};
    return options;
  }

  /* The windows ----------------------------------------------------------- */

  QVBoxLayout *make_window(watched_window &window, const char *title) {
    auto *box = new QVBoxLayout(&window);
    window.setWindowTitle(title);
    window.on_close = [this] { leave(); };
    add_keys(&window);
    box->setContentsMargins(32, 28, 32, 28);
    box->setSpacing(12);
    return box;
  }

  void add_keys(QWidget *window) {
    add_key(window, Qt::CTRL | Qt::Key_Q, [this] { leave(); });
    add_key(window, Qt::CTRL | Qt::Key_E, [this] { leave_screen(); });
  }

  void make_screen() {
    QVBoxLayout *box = make_window(screen_, "First run");
    auto *foot = new QHBoxLayout;
    screen_.setFixedWidth(540);
    box->addWidget(make_label("Welcome", "title"));
    box->addWidget(make_label("A few questions first, one at a time."));
    box->addSpacing(8);
    box->addWidget(list_ = new step_list);
    box->addSpacing(8);
    box->addWidget(bar_ = new QProgressBar);
    box->addLayout(foot);
    foot->addWidget(status_ = make_label("", "dim"), 1);
    foot->addWidget(close_ = new QPushButton("Close"));
    bar_->setFixedHeight(6);
    bar_->setTextVisible(false);
    close_->setEnabled(false);
    show_progress();
    QObject::connect(close_, &QPushButton::clicked, [this] { leave(); });
    add_key(&screen_, Qt::Key_Return, [this] { close_->click(); });
    screen_.on_visible = [this](bool is_visible) {
      is_visible ? queue_.view_did_appear() : queue_.view_will_disappear();
      say(is_visible ? "view appeared" : "view disappeared");
    };
  }

  void make_elsewhere() {
    QVBoxLayout *box = make_window(elsewhere_, "Elsewhere");
    auto *back = new QPushButton("Back");
    elsewhere_.setFixedWidth(420);
    back->setDefault(true);
    box->addWidget(make_label("Elsewhere", "title"));
    box->addWidget(make_label("Nothing is asked until you go back."));
    box->addWidget(back, 0, Qt::AlignRight);
    QObject::connect(back, &QPushButton::clicked, [this] { come_back(); });
    add_key(&elsewhere_, Qt::Key_Return, [this] { come_back(); });
  }

  void leave_screen() {
    screen_.hide();
    elsewhere_.show();
    say("shown elsewhere");
  }

  void come_back() {
    elsewhere_.hide();
    screen_.show();
  }

  /* The user leaves: what is open is asked to end; the rest never starts. */
  void leave() {
    leaving_ = true;
    queue_.view_will_disappear();
    queue_.cancel_all();
    QApplication::exit(); /* and not quit(), which asks the windows first */
  }

  void show_progress() {
    bar_->setRange(0, enqueued_ > 0 ? enqueued_.load() : 1);
    bar_->setValue(ended_);
    status_->setText(QString("%1 of %2 done").arg(ended_).arg(bar_->maximum()));
  }

  /* The interactions ------------------------------------------------------ */

  /* Any thread may call it. */
  void enqueue(const step &of) {
    inturn::operation_options options;
    options.label = of.label;
    options.urgent = &of == &urgent;
    options.on_end = [this](const inturn::end &end) { on_end(end); };
    enqueued_++;
    queue_.post(
        [this, &of](inturn::token token) { begin(of, std::move(token)); },
        std::move(options));
  }

  /* Called again, with another token, when its dialog has given way. */
  void begin(const step &of, inturn::token token) {
    if (of.granted)
      token.finish_with(std::make_unique<std::string>("already granted"));
    else if (&of == &notice)
      begin_notice(std::move(token));
    else
      open_dialog(of, std::move(token));
  }

  void open_dialog(const step &of, inturn::token token) {
    token.on_cancel([this](inturn::token_ref asked) { give_in(asked); });
    token.on_preempt([this](inturn::token_ref asked) { give_way(asked); });
    open_ = new dialog(&screen_, of, draft_, std::move(token));
    add_keys(open_);
    if (open_->entry() != nullptr)
      QObject::connect(open_->entry(), &QLineEdit::textEdited,
                       [this] { on_typing(); });
    open_->open();
    if (open_->entry() != nullptr) /* continue after the existing text */
      open_->entry()->end(false);
    list_->set(of.label, step_list::shown, "on screen");
    say(std::string("presented ") + of.label);
  }

  bool is_open(inturn::token_ref token) const {
    return open_ != nullptr && open_->is_of(token);
  }

  /* Asked to end. It may have ended meanwhile; then this comes too late. */
  void give_in(inturn::token_ref token) {
    if (is_open(token))
      open_->close_then().cancel();
    else
      token.cancel();
  }

  /* Asked to make room for an urgent one. */
  void give_way(inturn::token_ref token) {
    if (!is_open(token))
      return; /* it has been answered meanwhile */
    list_->set(open_->of().label, step_list::waiting, "has given way");
    open_->close_then().yield();
  }

  /* The notice ends on the service's thread, or opens its dialog. */
  void begin_notice(inturn::token token) {
    token.on_cancel([this](inturn::token_ref asked) { give_in(asked); });
    say("asking the service");
    if (service_.joinable())
      service_.join(); /* the one from before it gave way; it is over */
    service_ = std::thread([this, token = std::move(token)]() mutable {
      std::this_thread::sleep_for(delay_);
      if (service_up_) {
        token.finish_with(std::make_unique<std::string>("skipped"));
        return;
      }
      main_.post([this, token = std::move(token)]() mutable {
        if (leaving_)
          token.cancel();
        else
          open_dialog(notice, std::move(token));
      });
    });
  }

  /* Called on the main thread, before the next interaction begins. */
  void on_end(const inturn::end &end) {
    static const char *const names[] = {"",          "finished",  "failed",
                                        "cancelled", "timed out", "abandoned"};
    std::string outcome = names[static_cast<int>(end.outcome)];
    const std::string label(end.label);
    const bool finished = end.outcome == inturn::outcome::finished;
    if (end.result != nullptr)
      outcome += " (" + *static_cast<std::string *>(end.result) + ")";
    else if (end.outcome == inturn::outcome::failed)
      outcome +=
          end.code == permission_denied ? " (denied)" : " (too many tries)";
    else if (!finished && end.started.count() == 0)
      outcome += " (never started)";
    if (end.attempts > 1)
      outcome += ", presented " + std::to_string(end.attempts) + " times";
    say("ended " + label + ": " + outcome);
    list_->set(label.c_str(), finished ? step_list::good : step_list::bad,
               outcome.c_str());
    ended_++;
    show_progress();
    if (leaving_)
      return;
    if (ended_ == 1) {
      leave_screen();
    } else if (ended_ == enqueued_) {
      status_->setText("That was all. Welcome!");
      close_->setEnabled(true);
      close_->setFocus();
      say("done");
    }
  }

  /* The battery gets low at the worst moment. */
  void on_typing() {
    if (battery_.joinable())
      return;
    battery_ = std::thread([this] {
      std::this_thread::sleep_for(delay_);
      say("battery low");
      enqueue(urgent); /* the open dialog gives way, or it is the next */
    });
  }

  const std::chrono::milliseconds delay_;
  const bool service_up_;
  watched_window screen_, elsewhere_;
  step_list *list_ = nullptr;
  QProgressBar *bar_ = nullptr;
  QLabel *status_ = nullptr;
  QPushButton *close_ = nullptr;
  QPointer<dialog> open_; /* at most one: the queue ensures this */
  draft draft_;
  std::thread battery_, service_;
  std::atomic<int> enqueued_ = 0;
  int ended_ = 0;
  bool leaving_ = false;
  inturn::queue queue_, main_;
};

} // namespace

int main(int argc, char **argv) {
  QApplication application(argc, argv);
  bool fast = false, service_up = false;
  for (const QString &word : application.arguments().mid(1)) {
    if (word != "--fast" && word != "--service-up") {
      std::fputs("usage: qt_onboarding [--fast] [--service-up]\n", stderr);
      return 2;
    }
    (word == "--fast" ? fast : service_up) = true;
  }
  QApplication::setStyle("Fusion");
  application.setStyleSheet(style_sheet);
  QApplication::setQuitOnLastWindowClosed(false);
  const inturn::executor_ref executor = inturn::main_executor();
  if (inturn_qt_attach(executor.raw()) != INTURN_OK)
    return 1;
  onboarding(fast, service_up).run();
  inturn_qt_detach(executor.raw());
  return 0;
}
